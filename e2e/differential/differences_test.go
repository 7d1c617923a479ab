package differential

import (
	"encoding/json"
	"fmt"
	"reflect"

	current "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/cni/pkg/types/create"
)

// difference is one way in which bolt-local means to differ from host-local.
// In a random run anything else that differs is a bug.
type difference struct {
	name   string
	reason string

	// applies reports whether the step is one of this kind.
	applies func(e *episode, s step, hl, bl outcome) bool

	// check says what is wrong, although the step is of this kind.
	check func(e *episode, s step, hl, bl outcome) error

	// undo puts host-local's directory back to before the step, so that
	// both go on from the same state.
	undo bool
}

// differences are those that a valid configuration can bring out, in the
// order in which they are tried. TestListedDifferences shows the others.
var differences = []difference{
	{
		name: "a repeated ADD gets the same answer",
		reason: "Runtimes repeat ADD for a key, and the pod still uses its address. host-local refuses, " +
			"or hands out a second address if one is requested, and may free the first.",
		applies: func(e *episode, s step, _, _ outcome) bool {
			return s.verb == "ADD" && e.held[s.attachment()] != nil
		},
		check: checkRepeatedADD,
		undo:  true,
	},
	{
		name:   "a failed ADD moves no cursor",
		reason: "A failed verb changes nothing. host-local moves the cursors of the range sets that came before the one that failed.",
		applies: func(e *episode, s step, hl, bl outcome) bool {
			return s.verb == "ADD" && hl.Failed() && bl.Failed() && !reflect.DeepEqual(e.before, e.hostLocal.read(e.t))
		},
		check: func(_ *episode, _ step, _, bl outcome) error { return expectOwnCode(bl) },
		undo:  true,
	},
	{
		name:   "route keys of spec 1.1.0 stay out of older results",
		reason: "A reader of an older version does not know them. host-local prints them in all versions.",
		applies: func(e *episode, s step, hl, bl outcome) bool {
			return s.verb == "ADD" && !hl.Failed() && !bl.Failed() && dropNewRouteKeys(e.config.version, hl.answer)
		},
		check: func(_ *episode, _ step, hl, bl outcome) error { return agree(hl, bl) },
	},
	{
		name:   "CHECK compares addresses",
		reason: "A lost or changed address has to be noticed. host-local asks only whether the attachment holds any.",
		applies: func(e *episode, s step, hl, bl outcome) bool {
			held, prev := e.held[s.attachment()], s.request.prevResult
			return s.verb == "CHECK" && !hl.Failed() && prev != nil && !sameAddresses(held, prev)
		},
		check: func(_ *episode, _ step, _, bl outcome) error {
			if code := bl.ErrorCode(); code < 100 || code == internalCode {
				return fmt.Errorf("CHECK with another result has code %d, want one of 100 and above", code)
			}
			return nil
		},
	},
}

// checkRepeatedADD: what is asked for, if anything, must be held; then the
// answer is that of the first ADD.
func checkRepeatedADD(e *episode, s step, hl, bl outcome) error {
	first := e.held[s.attachment()]
	if !hl.Failed() && len(s.requested()) == 0 {
		return fmt.Errorf("host-local does not refuse a repeated ADD")
	}
	held := map[string]bool{}
	for _, a := range addressesOf(first) {
		held[a] = true
	}
	for a := range s.requested() {
		if !held[a.String()] {
			return expectOwnCode(bl)
		}
	}
	var want any
	if err := json.Unmarshal(first, &want); err != nil {
		return err
	}
	if bl.Failed() {
		return fmt.Errorf("a repeated ADD failed: %w", bl.Error())
	}
	if !reflect.DeepEqual(bl.answer, want) {
		return fmt.Errorf("the answer to the repeated ADD differs from the first, %s", first)
	}
	return nil
}

// dropNewRouteKeys removes the route keys of spec 1.1.0 from a result of an
// older version, and reports whether there were any.
func dropNewRouteKeys(version string, answer any) bool {
	if version == "1.1.0" {
		return false
	}
	dropped := false
	for _, route := range routesOf(answer) {
		for _, key := range newRouteKeys {
			if _, ok := route[key]; ok {
				delete(route, key)
				dropped = true
			}
		}
	}
	return dropped
}

// routesOf are the routes of a result: up to 0.2.0 each family has its own.
func routesOf(answer any) []object {
	result, _ := answer.(object)
	var out []object
	for _, part := range []any{result, result["ip4"], result["ip6"]} {
		o, _ := part.(object)
		list, _ := o["routes"].([]any)
		for _, route := range list {
			out = append(out, route.(object))
		}
	}
	return out
}

// sameAddresses reports whether two results name the same addresses.
func sameAddresses(a, b json.RawMessage) bool {
	return reflect.DeepEqual(addressesOf(a), addressesOf(b))
}

// addressesOf are the addresses of a result of any version, in its order.
func addressesOf(result json.RawMessage) []string {
	var v struct {
		CNIVersion string `json:"cniVersion"`
	}
	if result == nil || json.Unmarshal(result, &v) != nil {
		return nil
	}
	r, err := create.Create(v.CNIVersion, result)
	if err != nil {
		return nil
	}
	converted, err := current.NewResultFromResult(r)
	if err != nil {
		return nil
	}
	var out []string
	for _, ip := range converted.IPs {
		out = append(out, ip.Address.IP.String())
	}
	return out
}
