package record

import (
	"encoding/json"
	"maps"
	"reflect"
	"strings"
)

// extraFields are the fields of a JSON object that this version does not know.
// They are kept when the object is written again, so that a record which a
// newer version wrote survives a downgrade.
type extraFields map[string]json.RawMessage

// collectExtra fills in the unknown fields of every object in doc, which a was
// read from.
func collectExtra(doc []byte, a *Allocation) error {
	var top map[string]json.RawMessage
	if err := json.Unmarshal(doc, &top); err != nil {
		return err
	}
	var holders []map[string]json.RawMessage
	if err := unmarshalKey(top, "holders", &holders); err != nil {
		return err
	}
	a.extra = unknownTo[wireAllocation](top)
	for i, obj := range holders {
		if i == len(a.Holders) {
			break
		}
		h := &a.Holders[i]
		var netns, pod map[string]json.RawMessage
		if err := unmarshalKey(obj, "netns", &netns); err != nil {
			return err
		}
		if err := unmarshalKey(obj, "pod", &pod); err != nil {
			return err
		}
		h.extra = unknownTo[wireHolder](obj)
		h.netnsExtra = unknownTo[NetNS](netns)
		h.podExtra = unknownTo[Pod](pod)
	}
	return nil
}

// encodeWithExtra writes doc, made from a, with the fields that a has kept.
func encodeWithExtra(doc wireAllocation, a Allocation) ([]byte, error) {
	holders := make([]map[string]any, len(doc.Holders))
	for i, w := range doc.Holders {
		h := a.Holders[i]
		obj, err := object(w, h.extra)
		if err != nil {
			return nil, err
		}
		if w.NetNS != nil {
			if obj["netns"], err = object(w.NetNS, h.netnsExtra); err != nil {
				return nil, err
			}
		}
		if w.Pod != nil {
			if obj["pod"], err = object(w.Pod, h.podExtra); err != nil {
				return nil, err
			}
		}
		holders[i] = obj
	}
	top := map[string]any{"holders": holders}
	for k, v := range a.extra {
		top[k] = v
	}
	return json.Marshal(top)
}

// object turns known into a JSON object and adds extra.
func object(known any, extra extraFields) (map[string]any, error) {
	doc, err := json.Marshal(known)
	if err != nil {
		return nil, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(doc, &fields); err != nil {
		return nil, err
	}
	maps.Copy(fields, extra)
	obj := make(map[string]any, len(fields))
	for k, v := range fields {
		obj[k] = v
	}
	return obj, nil
}

// unmarshalKey reads obj's field of that name, in any case, as encoding/json
// does.
func unmarshalKey(obj map[string]json.RawMessage, name string, into any) error {
	for k, v := range obj {
		if strings.EqualFold(k, name) {
			return json.Unmarshal(v, into)
		}
	}
	return nil
}

// unknownTo returns those fields of obj that T has no field for.
func unknownTo[T any](obj map[string]json.RawMessage) extraFields {
	known := jsonKeys[T]()
	var extra extraFields
	for k, v := range obj {
		if known[strings.ToLower(k)] {
			continue
		}
		if extra == nil {
			extra = extraFields{}
		}
		extra[k] = v
	}
	return extra
}

// jsonKeys returns the lower-cased JSON names of a struct's fields.
func jsonKeys[T any]() map[string]bool {
	keys := map[string]bool{}
	t := reflect.TypeFor[T]()
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		keys[strings.ToLower(name)] = true
	}
	return keys
}
