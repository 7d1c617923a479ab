package ipam

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// The configuration is read by way of map[string]any rather than into tagged
// structs: encoding/json then builds no type tables, which cost a process that
// parses once ten times the parsing. It also lets an error name the index of a
// list, and a lenient decoder go on after it.

// schema lists the fields of one JSON object that are read.
type schema struct {
	names []string
	// hints are further ones, of which another plugin is the judge: nothing is an
	// error in them.
	hints []string
	// ours says that no other plugin reads the object, so that a field which
	// nearly has one of the names is worth a warning.
	ours bool
}

// object is a JSON object with its fields under the names of its schema. A
// field that is null is the same as one that is not there.
type object struct {
	// path leads to the object, "" for the configuration itself.
	path   string
	fields map[string]any
}

// at returns the path of a field.
func (o object) at(name string) string {
	if o.path == "" {
		return name
	}
	return o.path + "." + name
}

// decoder takes values out of JSON. Every method returns the zero value for a
// field that is not there or is wrong, and notes the latter.
type decoder struct {
	// lenient turns errors into warnings.
	lenient bool
	// frees does so for the network's name alone.
	frees bool
	// status says that the configuration came without runtimeConfig.
	status bool
	// err is the first error of a decoder that is not lenient.
	err      error
	warnings []string
}

// fail notes an error.
func (d *decoder) fail(err error) {
	switch {
	case d.lenient:
		d.warnings = append(d.warnings, err.Error())
	case d.err == nil:
		d.err = err
	}
}

// warn notes what need not stop anybody.
func (d *decoder) warn(format string, args ...any) {
	d.warnings = append(d.warnings, fmt.Sprintf(format, args...))
}

// document parses the configuration that came on stdin.
func (d *decoder) document(stdin []byte, s schema) object {
	var value any
	err := json.Unmarshal(stdin, &value)
	if huge := (*json.UnmarshalTypeError)(nil); errors.As(err, &huge) {
		// A number beyond a float64 reads as null; the rest is intact, and the
		// field may well be another plugin's.
		d.warn("the network configuration has a %s, which is too large and counts as absent", huge.Value)
	} else if err != nil {
		d.fail(Errorf(CodeDecode, "the network configuration is not JSON: %w", err))
		return object{}
	}
	return d.object("", value, s)
}

// object files the fields of value under the names in s. As with encoding/json
// the case of a key does not matter; which of two keys that differ in nothing
// else would win is nobody's to guess, so that is an error.
func (d *decoder) object(path string, value any, s schema) object {
	o := object{path: path}
	if value == nil {
		return o
	}
	members, ok := value.(map[string]any)
	if !ok {
		d.wrongKind(path, "an object", value)
		return o
	}
	o.fields = make(map[string]any, len(s.names))
	written := make(map[string]string, len(s.names))
	for _, key := range slices.Sorted(maps.Keys(members)) {
		name, known := s.match(key)
		if !known {
			if near, ok := s.near(key); ok {
				d.warn("%s is unknown; did you mean %s?", o.at(printable(key)), near)
			}
			continue
		}
		other, twice := written[name]
		if twice && slices.Contains(s.hints, name) {
			continue
		}
		if twice {
			d.fail(Errorf(CodeConfig, "%s is given twice, as %q and as %q; keep one", o.at(name), other, key))
			if key != name {
				continue
			}
		}
		written[name] = key
		o.fields[name] = members[key]
	}
	return o
}

// match returns the name that key stands for.
func (s schema) match(key string) (string, bool) {
	for _, names := range [...][]string{s.names, s.hints} {
		for _, name := range names {
			if strings.EqualFold(name, key) {
				return name, true
			}
		}
	}
	return "", false
}

// child reads a field that is an object.
func (d *decoder) child(o object, name string, s schema) object {
	return d.object(o.at(name), o.fields[name], s)
}

// text reads a string. An empty one is the same as none.
func (d *decoder) text(o object, name string) string {
	s, ok := o.fields[name].(string)
	if !ok && o.fields[name] != nil {
		d.wrongKind(o.at(name), "a string", o.fields[name])
	}
	return s
}

// boolean reads true or false.
func (d *decoder) boolean(o object, name string) bool {
	b, ok := o.fields[name].(bool)
	if !ok && o.fields[name] != nil {
		d.wrongKind(o.at(name), "true or false", o.fields[name])
	}
	return b
}

// integer reads a whole number.
func (d *decoder) integer(o object, name string) (int, bool) {
	value := o.fields[name]
	if value == nil {
		return 0, false
	}
	// Beyond 2^53 a float64 is not exact; nothing here comes near.
	n, ok := value.(float64)
	if !ok || n != math.Trunc(n) || math.Abs(n) > 1<<53 {
		d.wrongKind(o.at(name), "a whole number", value)
		return 0, false
	}
	return int(n), true
}

// list reads a list; nil where there is none.
func (d *decoder) list(o object, name string) []any {
	return d.listValue(o.at(name), o.fields[name])
}

// listValue is list for a list inside of another.
func (d *decoder) listValue(path string, value any) []any {
	l, ok := value.([]any)
	if !ok && value != nil {
		d.wrongKind(path, "a list", value)
	}
	return l
}

// texts reads a list of strings, none of which may be empty.
func (d *decoder) texts(o object, name string) []textAt {
	list := d.list(o, name)
	if list == nil {
		return nil
	}
	texts := make([]textAt, 0, len(list))
	for i, value := range list {
		path := index(o.at(name), i)
		switch s, ok := value.(string); {
		case !ok:
			d.wrongKind(path, "a string", value)
		case s == "":
			d.fail(Errorf(CodeConfig, "%s is empty", path))
		default:
			texts = append(texts, textAt{path, s})
		}
	}
	return texts
}

// textAt is a string of the configuration and the path that leads to it.
type textAt struct{ path, text string }

// wrongKind notes that a field is of another JSON type than it has to be.
func (d *decoder) wrongKind(path, want string, got any) {
	if path == "" {
		path = "the network configuration"
	}
	kind := "null"
	switch v := got.(type) {
	case bool:
		kind = strconv.FormatBool(v)
	case float64:
		kind = "the number " + strconv.FormatFloat(v, 'g', -1, 64)
	case string:
		kind = "the string " + quoted(v)
	case []any:
		kind = "a list"
	case map[string]any:
		kind = "an object"
	}
	d.fail(Errorf(CodeDecode, "%s must be %s, not %s", path, want, kind))
}

// invalid says what is wrong with the value of a field.
func invalid(f textAt, format string, args ...any) error {
	return Errorf(CodeConfig, "%s %s %s", f.path, quoted(f.text), fmt.Sprintf(format, args...))
}

// index returns the path of an element of a list.
func index(path string, i int) string {
	return path + "[" + strconv.Itoa(i) + "]"
}

// longestQuoted is how many bytes of a value an error shows.
const longestQuoted = 100

// quoted returns s in quotes for a message, cut where it is long.
func quoted(s string) string {
	if len(s) > longestQuoted {
		return strconv.Quote(s[:longestQuoted]) + "…"
	}
	return strconv.Quote(s)
}

// printable returns s with escapes for what a terminal should not get.
func printable(s string) string {
	q := strconv.Quote(s)
	return q[1 : len(q)-1]
}
