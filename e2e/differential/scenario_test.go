package differential

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/bolt-local/bolt-local/e2e/lab"
)

// scenario is a sequence of calls, and what each plugin does with them.
type scenario struct {
	name     string
	versions []string // nil is 1.1.0 only
	ipam     string   // JSON
	actions  []action

	// reason is why bolt-local differs, if an action says that it does.
	reason string
}

// action is one call. What is expected is `ok`, `refused`, or the addresses
// of an ADD.
type action struct {
	step
	ipam      string // if it differs from the scenario's
	want      string
	boltLocal string // if it differs from want
}

const (
	ok      = "ok"
	refused = "refused"
)

func add(id, want string) action {
	return action{step: step{verb: "ADD", id: id, ifname: "eth0"}, want: want}
}

func del(id string) action {
	return action{step: step{verb: "DEL", id: id, ifname: "eth0"}, want: ok}
}

// check is a CHECK without prevResult: it asks only whether anything is held.
func check(id string) action {
	return action{step: step{verb: "CHECK", id: id, ifname: "eth0"}, want: ok}
}

// gc lists the containers whose eth0 lives.
func gc(alive ...string) action {
	return action{step: step{verb: "GC", request: request{valid: lab.Valid(alive...)}}, want: ok}
}

// on makes it a call for another interface.
func (a action) on(ifname string) action { a.ifname = ifname; return a }

// asking asks for addresses, by args.cni.ips.
func (a action) asking(addresses ...string) action { a.request.argsIPs = addresses; return a }

// args sets CNI_ARGS.
func (a action) args(cniArgs string) action { a.cniArgs = cniArgs; return a }

// with makes it a call under another configuration.
func (a action) with(ipam string) action { a.ipam = ipam; return a }

// but says what bolt-local does instead.
func (a action) but(want string) action { a.boltLocal = want; return a }

// expected is what the plugin is to do.
func (a action) expected(plugin string) string {
	if plugin == lab.BoltLocal && a.boltLocal != "" {
		return a.boltLocal
	}
	return a.want
}

// runScenarios runs each scenario with both plugins, in each version.
func runScenarios(t *testing.T, scenarios []scenario) {
	t.Helper()
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			versions := s.versions
			if versions == nil {
				versions = []string{"1.1.0"}
			}
			for _, version := range versions {
				hostLocal, boltLocal := newPeers(t)
				for _, p := range []*peer{hostLocal, boltLocal} {
					for i, a := range s.actions {
						a.run(t, p, fmt.Sprintf("%s, version %q, action %d", p.name, version, i+1), version, s.ipam)
					}
				}
			}
			if s.differs() && s.reason != "" {
				t.Logf("differs: %s", s.reason)
			}
		})
	}
}

// differs reports whether bolt-local means to do anything else.
func (s scenario) differs() bool {
	for _, a := range s.actions {
		if a.boltLocal != "" {
			return true
		}
	}
	return false
}

// run makes the call and checks what came of it.
func (a action) run(t *testing.T, p *peer, where, version, ipam string) {
	t.Helper()
	if a.ipam != "" {
		ipam = a.ipam
	}
	c := config{version: version}
	if err := json.Unmarshal([]byte(ipam), &c.ipam); err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	o := p.run(t, c, a.step)
	if got, want := o.String(), a.expected(p.name); got != want {
		t.Errorf("%s, %s of %s/%s: got %s, want %s\nerror: %v\n%s",
			where, a.verb, a.id, a.ifname, got, want, o.Error(), p.shell(c, a.step))
	}
	if p.name == lab.BoltLocal && o.Failed() {
		if err := expectOwnCode(o); err != nil {
			t.Errorf("%s, %s: %v", where, a.verb, err)
		}
	}
}

// String is the outcome as a scenario says it.
func (o outcome) String() string {
	if o.Failed() {
		return refused
	}
	if o.answer == nil {
		return ok
	}
	result, err := o.Result()
	if err != nil {
		return err.Error()
	}
	var out []string
	for _, ip := range result.IPs {
		out = append(out, ip.Address.String())
	}
	return strings.Join(out, " ")
}
