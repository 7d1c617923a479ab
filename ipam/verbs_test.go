package ipam_test

import (
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate"
	"github.com/bolt-local/bolt-local/store"
	"github.com/bolt-local/bolt-local/store/record"
)

func TestDelGoesByAttachmentWhateverTheConfigurationSays(t *testing.T) {
	for name, c := range map[string]string{
		"the same":                conf(net24),
		"another subnet":          conf(`"subnet":"192.0.2.0/24"`),
		"no ranges":               `{"cniVersion":"1.0.0","name":"n","type":"bridge","ipam":{"type":"bolt-local","dataDir":"$D"}}`,
		"ranges that overlap":     conf(`"ranges":[[{"subnet":"10.0.0.0/24"},{"subnet":"10.0.0.0/24"}]]`),
		"a subnet that is none":   conf(`"subnet":"junk"`),
		"fields of other types":   conf(`"subnet":17,"routes":"x","ranges":{},"exclude":5,"lockTimeout":{}`),
		"resolvConf not there":    conf(net24 + `,"resolvConf":"/nope"`),
		"requested that are none": with(conf(net24), "args", ipsArg("junk")),
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t.TempDir())
			mustAdd(t, n, "a", conf(dual))
			mustAdd(t, n, "b", conf(dual))
			call := n.call("a", c)
			call.Args, call.NetNS = "not arguments", ""
			for range 2 { // again is success too
				if err := n.plugin().Del(call); err != nil {
					t.Fatal(err)
				}
			}
			if got := n.held(t); len(got) != 2 || got["10.0.0.2"] != "" {
				t.Errorf("held = %v", got)
			}
		})
	}
}

func TestDelFreesOneInterfaceOfAContainer(t *testing.T) {
	n := newNode(t.TempDir())
	call := n.call("a", conf(net24))
	for _, ifname := range []string{"net1", "net2"} {
		call.IfName = ifname
		if _, err := n.addWith(call); err != nil {
			t.Fatal(err)
		}
	}
	call.IfName = "net1"
	if err := n.plugin().Del(call); err != nil {
		t.Fatal(err)
	}
	if got := n.held(t); len(got) != 1 || got["10.0.0.3"] != "a" {
		t.Errorf("held = %v", got)
	}
}

func TestDelOfNothingMakesNothing(t *testing.T) {
	n := newNode(t.TempDir())
	if err := n.plugin().Del(n.call("a", conf(net24))); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(n.dir); !os.IsNotExist(err) {
		t.Errorf("the data directory was made: %v", err)
	}
}

func prev(ips ...string) any {
	list := make([]any, len(ips))
	for i, ip := range ips {
		list[i] = map[string]any{"address": ip}
	}
	return map[string]any{"cniVersion": "1.0.0", "ips": list}
}

func TestCheck(t *testing.T) {
	held := conf(dual)
	for name, c := range map[string]struct {
		id, conf string
		code     uint
	}{
		"what was given":                   {"a", with(held, "prevResult", prev("10.0.0.2/24", "fd00::2/64")), 0},
		"and one of another plugin":        {"a", with(held, "prevResult", prev("10.0.0.2/24", "fd00::2/64", "192.168.7.7/24")), 0},
		"no prevResult":                    {"a", held, 0},
		"another address":                  {"a", with(held, "prevResult", prev("10.0.0.99/24", "fd00::2/64")), ipam.CodeCheckMismatch},
		"one is missing":                   {"a", with(held, "prevResult", prev("10.0.0.2/24")), ipam.CodeCheckMismatch},
		"one that is not recorded":         {"a", with(held, "prevResult", prev("10.0.0.2/24", "fd00::2/64", "10.0.0.9/24")), ipam.CodeCheckMismatch},
		"nothing recorded":                 {"z", with(held, "prevResult", prev("10.0.0.2/24")), ipam.CodeNothingAllocated},
		"the ranges have changed since":    {"a", with(conf(`"subnet":"10.7.0.0/24"`), "prevResult", prev("10.0.0.2/24", "fd00::2/64")), 0},
		"a broken configuration":           {"a", with(conf(`"subnet":"junk"`), "prevResult", prev("10.0.0.2/24", "fd00::2/64")), 0},
		"prevResult that is none":          {"a", with(held, "prevResult", map[string]any{"ips": "x"}), ipam.CodeDecode},
		"prevResult with an empty entry":   {"a", with(held, "prevResult", map[string]any{"cniVersion": "1.0.0", "ips": []any{nil}}), ipam.CodeDecode},
		"one of an older version":          {"a", strings.ReplaceAll(with(held, "prevResult", map[string]any{"cniVersion": "0.4.0", "ips": []any{nil}}), `"cniVersion":"1.0.0"`, `"cniVersion":"0.4.0"`), ipam.CodeDecode},
		"an interface that is empty":       {"a", strings.ReplaceAll(with(held, "prevResult", map[string]any{"cniVersion": "0.4.0", "interfaces": []any{nil}}), `"cniVersion":"1.0.0"`, `"cniVersion":"0.4.0"`), ipam.CodeDecode},
		"nothing recorded and no previous": {"z", held, ipam.CodeNothingAllocated},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t.TempDir())
			mustAdd(t, n, "a", held)
			err := n.plugin().Check(n.call(c.id, c.conf))
			if c.code == 0 && err != nil {
				t.Fatal(err)
			}
			if c.code != 0 {
				wantCode(t, err, c.code)
			}
		})
	}
}

func TestCheckOfAnEarlierBootFails(t *testing.T) {
	n := newNode(t.TempDir())
	mustAdd(t, n, "a", conf(net24))
	n.boot++
	wantCode(t, n.plugin().Check(n.call("a", conf(net24))), ipam.CodeNothingAllocated)
}

func gcConf(key string, value any) string {
	return with(`{"cniVersion":"1.1.0","name":"n","type":"bolt-local","ipam":{"dataDir":"$D"}}`, key, value)
}

func attachments(ids ...string) any {
	list := make([]any, len(ids))
	for i, id := range ids {
		list[i] = map[string]any{"containerID": id, "ifname": "eth0"}
	}
	return list
}

func TestGC(t *testing.T) {
	const key = "cni.dev/valid-attachments"
	for name, c := range map[string]struct {
		conf string
		code uint
		want string // the containers that are left
	}{
		"a list":                        {gcConf(key, attachments("a", "c", "unknown")), 0, "[a c]"},
		"under the older key":           {gcConf("cni.dev/attachments", attachments("b")), 0, "[b]"},
		"both keys":                     {with(gcConf(key, attachments("b")), "cni.dev/attachments", attachments("c")), 0, "[b]"},
		"an empty list":                 {gcConf(key, attachments()), 0, "[]"},
		"null frees only the dead":      {gcConf(key, nil), 0, "[a c]"},
		"no key":                        {gcConf("x", 1), ipam.CodeConfig, "[a b c]"},
		"not a list":                    {gcConf(key, "a"), ipam.CodeConfig, "[a b c]"},
		"an entry without an ifname":    {gcConf(key, []any{map[string]any{"containerID": "a"}}), ipam.CodeConfig, "[a b c]"},
		"a dataDir that is none":        {with(`{"cniVersion":"1.1.0","name":"n","type":"bridge","ipam":{"dataDir":5}}`, key, attachments()), ipam.CodeDecode, "[a b c]"},
		"ipam that is none":             {with(`{"cniVersion":"1.1.0","name":"n","type":"bridge","ipam":["x"]}`, key, attachments()), ipam.CodeDecode, "[a b c]"},
		"disableGC":                     {with(gcConf(key, attachments()), "disableGC", true), 0, "[a b c]"},
		"the same id, another ifname":   {gcConf(key, []any{map[string]any{"containerID": "a", "ifname": "net1"}}), 0, "[]"},
		"as a delegate":                 {with(conf(net24), key, attachments("a")), 0, "[a]"},
		"under a broken configuration":  {with(conf(`"subnet":"junk"`), key, attachments("a")), 0, "[a]"},
		"in a network that has nothing": {with(`{"cniVersion":"1.1.0","name":"other","type":"bolt-local","ipam":{"dataDir":"$D"}}`, key, attachments()), 0, "[a b c]"},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t.TempDir())
			for i, id := range []string{"a", "b", "c"} {
				n.spaces["/ns/"+id] = uint64(i + 1)
				mustAdd(t, n, id, conf(net24))
			}
			delete(n.spaces, "/ns/b")
			err := n.plugin().GC(n.call("", c.conf))
			if c.code == 0 && err != nil {
				t.Fatal(err)
			}
			if c.code != 0 {
				wantCode(t, err, c.code)
			}
			var left []string
			held := n.held(t)
			for _, a := range []string{"10.0.0.2", "10.0.0.3", "10.0.0.4"} {
				if id := held[a]; id != "" {
					left = append(left, id)
				}
			}
			if fmt.Sprint(left) != c.want {
				t.Errorf("left %v, want %s", left, c.want)
			}
		})
	}
}

func status(n *node, c string) error { return n.plugin().Status(n.call("", c)) }

func TestStatus(t *testing.T) {
	n := newNode(t.TempDir())
	c := conf(net30)
	if err := status(n, c); err != nil {
		t.Fatalf("of a new node: %v", err)
	}
	if _, err := os.Stat(n.dir); !os.IsNotExist(err) {
		t.Errorf("STATUS made something: %v", err)
	}
	n.spaces["/ns/a"] = 1
	mustAdd(t, n, "a", c)
	wantCode(t, status(n, c), ipam.CodeUnavailable, "10.0.0.1-10.0.0.2", "network n")
	if err := status(n, conf(net30+`,"statusIgnoresExhaustion":true`)); err != nil {
		t.Errorf("with the switch: %v", err)
	}
	delete(n.spaces, "/ns/a")
	if err := status(n, c); err != nil {
		t.Errorf("with one that an ADD could take back: %v", err)
	}
	n.spaces["/ns/a"] = 1
	n.boot++
	clear(n.spaces)
	if err := status(n, c); err != nil {
		t.Errorf("after a reboot: %v", err)
	}
	wantCode(t, status(n, conf(`"subnet":"junk"`)), ipam.CodeConfig)
	if err := os.WriteFile(n.store.Path(), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wantCode(t, status(n, c), ipam.CodeUnavailable, n.store.Path())
}

// The chained role knows the ranges of the last ADD alone. While its STATUS fails
// the node is NotReady, and no ADD comes that could store others.
func TestTheChainedStatusIsNoJudgeOfRanges(t *testing.T) {
	const chained = `{"cniVersion":"1.1.0","name":"n","type":"bolt-local","ipam":{"dataDir":"$D"}}`
	for name, c := range map[string]struct{ bad, good string }{
		"all was excluded":           {net24 + `,"exclude":["10.0.0.0/24"]`, net24},
		"it was narrowed":            {net24 + `,"rangeEnd":"10.0.0.2"`, net24},
		"it is full, and is widened": {net30, `"ranges":[[{"subnet":"10.0.0.0/30"},{"subnet":"10.0.1.0/24"}]]`},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t.TempDir())
			n.spaces["/ns/a"] = 1
			mustAdd(t, n, "a", conf(net24), "10.0.0.2")
			_, err := n.add("b", conf(c.bad))
			wantCode(t, err, ipam.CodeTryAgain)
			wantCode(t, status(n, conf(c.bad)), ipam.CodeUnavailable)
			for _, conf := range []string{conf(c.good), chained} {
				if err := status(n, conf); err != nil {
					t.Errorf("STATUS of %s: %v", conf, err)
				}
			}
			if err := os.WriteFile(n.store.Path(), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			wantCode(t, status(n, chained), ipam.CodeUnavailable, n.store.Path())
		})
	}
}

// libcni gives runtimeConfig to ADD, CHECK and DEL, not to STATUS.
func TestStatusWhereTheRuntimeBringsTheRanges(t *testing.T) {
	form := `{"cniVersion":"1.1.0","name":"n","type":"bridge","capabilities":%s,"ipam":{"type":"bolt-local","dataDir":"$D"%s}}`
	c := fmt.Sprintf(form, `{"ipRanges":true}`, "")
	n := newNode(t.TempDir())
	n.spaces["/ns/a"] = 1
	mustAdd(t, n, "a", with(c, "runtimeConfig", map[string]any{"ipRanges": []any{[]any{map[string]any{"subnet": "10.0.0.0/30"}}}}), "10.0.0.2")
	if err := status(n, c); err != nil {
		t.Errorf("STATUS: %v", err)
	}
	_, err := n.add("b", c)
	wantCode(t, err, ipam.CodeConfig, "no address ranges")
	wantCode(t, status(n, fmt.Sprintf(form, `{"ipRanges":true}`, ","+net30)), ipam.CodeUnavailable, "10.0.0.1-10.0.0.2")
	wantCode(t, status(n, fmt.Sprintf(form, `{"ipRanges":true}`, `,"subnet":"junk"`)), ipam.CodeConfig, "junk")
	for _, capabilities := range []string{`{"ipRanges":false}`, `{"ips":true}`, `{"ipRanges":"yes"}`, `true`, `null`} {
		wantCode(t, status(n, fmt.Sprintf(form, capabilities, "")), ipam.CodeConfig, "no address ranges")
	}
	if err := os.WriteFile(n.store.Path(), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wantCode(t, status(n, c), ipam.CodeUnavailable, n.store.Path())
}

func TestStatusWritesNothing(t *testing.T) {
	n := newNode(t.TempDir())
	mustAdd(t, n, "a", conf(net24))
	before, err := os.Stat(n.store.Path())
	if err != nil {
		t.Fatal(err)
	}
	n.boot++ // an ADD would begin an epoch
	if err := status(n, conf(net24)); err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(n.store.Path())
	if err != nil || !after.ModTime().Equal(before.ModTime()) || after.Size() != before.Size() {
		t.Errorf("the checkpoint was written: %v", err)
	}
}

func TestTheChainedRolePassesThrough(t *testing.T) {
	n := newNode(t.TempDir())
	mustAdd(t, n, "a", conf(net24))
	chained := `{"cniVersion":"1.0.0","name":"n","type":"bolt-local","ipam":{"dataDir":"$D"}}`
	got, err := n.add("a", with(chained, "prevResult", prev("192.168.0.9/24")))
	if err != nil || fmt.Sprint(got) != "[192.168.0.9]" {
		t.Errorf("ADD: %v %v", got, err)
	}
	_, err = n.add("a", chained)
	wantCode(t, err, ipam.CodeConfig, "prevResult")
	if err := n.plugin().Del(n.call("a", chained)); err != nil {
		t.Errorf("DEL: %v", err)
	}
	if len(n.held(t)) != 1 {
		t.Error("the chained DEL freed what the main plugin's will ask for")
	}
	if err := n.plugin().Check(n.call("a", with(chained, "prevResult", prev("10.0.0.2/24", "10.0.0.3/24")))); err != nil {
		t.Errorf("CHECK: %v", err)
	}
	wantCode(t, n.plugin().Check(n.call("a", with(chained, "prevResult", prev("10.0.0.3/24")))), ipam.CodeCheckMismatch)
	wantCode(t, n.plugin().Check(n.call("a", chained)), ipam.CodeConfig)
}

// The configuration has its own list of them, since it does not know the store.
func TestANetworkNamedLikeAFileOfTheStoreIsRefused(t *testing.T) {
	for _, name := range []string{store.CheckpointFile, store.LockFile, store.JournalFile, store.UndoFile, store.DeferredDir} {
		n := newNode(t.TempDir())
		_, err := n.add("a", strings.Replace(conf(net24), `"name":"n"`, `"name":"`+name+`"`, 1))
		wantCode(t, err, ipam.CodeConfig, name)
	}
}

// tight is a disk with room for few changes in a transaction.
type tight struct {
	ipam.State
	batches int
}

type tightTx struct {
	ipam.Tx
	deletes int
}

func (tx *tightTx) Delete(addr netip.Addr) error {
	if tx.deletes++; tx.deletes > 16 {
		return ipam.Errorf(ipam.CodeIO, "committing: %w", ipam.ErrNoSpace)
	}
	return tx.Tx.Delete(addr)
}

func (s *tight) Update(verb ipam.Verb, network string, fn func(ipam.Tx) error) error {
	s.batches++
	return s.State.Update(verb, network, func(tx ipam.Tx) error { return fn(&tightTx{Tx: tx}) })
}

func TestSweepGoesOnInSmallBatchesOnAFullDisk(t *testing.T) {
	n := newNode(t.TempDir())
	for i := range 50 {
		mustAdd(t, n, fmt.Sprint("a", i), conf(net24))
	}
	state := &tight{State: migrate.State{Store: n.store, Stale: n.plugin().Stale}}
	keep := []record.Attachment{{ContainerID: "a7", IfName: "eth0"}}
	freed, err := ipam.Sweep(state, ipam.VerbGC, "n", ipam.KeepOnly(keep))
	if err != nil || len(freed) != 49 {
		t.Errorf("freed %d, %v", len(freed), err)
	}
	if got := n.held(t); len(got) != 1 || got["10.0.0.9"] != "a7" {
		t.Errorf("held = %v", got)
	}
	if state.batches < 5 { // the one that failed, and four
		t.Errorf("%d transactions", state.batches)
	}
}

// The record's JSON would have another ifname than the index, which looks like
// damage.
func TestADDRefusesAnIfnameThatIsNoText(t *testing.T) {
	n := newNode(t.TempDir())
	call := n.call("a", conf(net24))
	call.IfName = "\xff\xfe"
	_, err := n.addWith(call)
	wantCode(t, err, ipam.CodeEnvironment, "CNI_IFNAME")
	if err := n.plugin().Del(call); err != nil {
		t.Errorf("DEL of it: %v", err)
	}
	mustAdd(t, n, "b", conf(net24), "10.0.0.2")
}
