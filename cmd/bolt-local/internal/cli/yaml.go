package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// printYAML prints doc as YAML, with the names and the order of its JSON. The
// YAML packages build tables and expressions when a process starts, which every
// pod's start would pay for; what JSON can say needs little.
func printYAML(s screen, doc any) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(doc); err != nil {
		return err
	}
	y := yamlWriter{dec: json.NewDecoder(&text)}
	y.dec.UseNumber()
	if err := y.value("", "", ""); err != nil {
		return err
	}
	_, err := io.WriteString(s, y.out.String())
	return err
}

// yamlWriter turns a stream of JSON tokens into block style YAML.
type yamlWriter struct {
	dec *json.Decoder
	out strings.Builder
}

// value writes the next value: inline stands before one that fits behind it,
// block before the first line of any other, indent before its further lines.
func (y *yamlWriter) value(inline, block, indent string) error {
	token, err := y.dec.Token()
	if err != nil {
		return err
	}
	open, nested := token.(json.Delim)
	switch {
	case !nested:
		return y.line(inline, token)
	case !y.dec.More():
		y.out.WriteString(inline + map[json.Delim]string{'{': "{}", '[': "[]"}[open] + "\n")
	}
	for lead := block; y.dec.More(); lead = indent {
		if open == '[' {
			err = y.value(lead+"- ", lead+"- ", indent+"  ")
		} else {
			err = y.member(lead, indent)
		}
		if err != nil {
			return err
		}
	}
	_, err = y.dec.Token() // what closes it
	return err
}

func (y *yamlWriter) member(lead, indent string) error {
	key, err := y.dec.Token()
	if err != nil {
		return err
	}
	name := lead + yamlString(key.(string)) + ":"
	return y.value(name+" ", name+"\n"+indent+"  ", indent+"  ")
}

func (y *yamlWriter) line(lead string, scalar json.Token) error {
	text := "null"
	switch v := scalar.(type) {
	case string:
		text = yamlString(v)
	case nil:
	default:
		text = fmt.Sprint(v)
	}
	y.out.WriteString(lead + text + "\n")
	return nil
}

// yamlString leaves out the quotes where every version of YAML reads the text
// as a string. All escapes of a quoted Go string are those of a quoted YAML one.
func yamlString(text string) string {
	isPlain := text != "" && isLetter(text[0]) && strings.Trim(text, yamlPlain) == ""
	switch strings.ToLower(text) {
	case "null", "true", "false", "yes", "no", "on", "off", "y", "n":
		isPlain = false
	}
	if isPlain {
		return text
	}
	return strconv.Quote(text)
}

const yamlPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./"

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
