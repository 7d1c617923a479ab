package backfill

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bolt-local/bolt-local/store/record"
)

func TestWhatIsStoredWinsOverAWitness(t *testing.T) {
	att := record.Attachment{ContainerID: "box", IfName: "eth0"}
	full := record.Holder{Attachment: att, Origin: record.OriginCNICache, NetNS: there, Pod: web, AllocatedAt: created, BootTime: 5}
	guess := full
	guess.Unknown = []string{record.UnknownNetwork}
	bare := record.Holder{Attachment: record.Attachment{ContainerID: "box"}, Origin: record.OriginHostLocal, Unknown: []string{record.UnknownIfName}}
	other := record.Holder{Attachment: record.Attachment{ContainerID: "another", IfName: "eth0"}}
	net1 := record.Holder{Attachment: record.Attachment{ContainerID: "box", IfName: "net1"}}
	completed := full
	completed.Origin, completed.Unknown = record.OriginHostLocal, []string{}
	certain := full
	certain.Unknown = []string{}

	for name, c := range map[string]struct {
		claim   record.Holder
		stored  []record.Holder // none: the address is free
		stale   bool
		outcome Outcome
		want    []record.Holder
	}{
		"nobody holds it":                             {full, nil, false, Added, []record.Holder{full}},
		"its holder is of an earlier boot":            {full, []record.Holder{other}, true, Added, []record.Holder{full}},
		"it is stored as it is":                       {full, []record.Holder{full}, false, Known, []record.Holder{full}},
		"a guess adds nothing to what is known":       {guess, []record.Holder{full}, false, Known, []record.Holder{full}},
		"interface, namespace, pod and time are new":  {full, []record.Holder{bare}, false, Completed, []record.Holder{completed}},
		"a guess becomes certain":                     {full, []record.Holder{guess}, false, Completed, []record.Holder{certain}},
		"another attachment holds it":                 {full, []record.Holder{other}, false, Conflict, []record.Holder{other}},
		"another interface of the container holds it": {full, []record.Holder{net1}, false, Known, []record.Holder{net1}},
		"it is one of two holders":                    {full, []record.Holder{other, bare}, false, Completed, []record.Holder{other, completed}},
	} {
		t.Run(name, func(t *testing.T) {
			stored := record.Allocation{Addr: ip("10.0.0.5"), Epoch: 3, Holders: c.stored}
			claim := Claim{"podnet", ip("10.0.0.5"), c.claim}
			outcome, got := claim.Decide(stored, c.stored != nil, func(record.Allocation) bool { return c.stale })
			if outcome != c.outcome {
				t.Errorf("outcome %s, want %s", outcome, c.outcome)
			}
			if diff := cmp.Diff(c.want, got.Holders, cmpopts.IgnoreUnexported(record.Holder{})); diff != "" {
				t.Errorf("holders differ (-want +got):\n%s", diff)
			}
			if want := uint64(3); outcome != Added && got.Epoch != want || outcome == Added && got.Epoch != 0 {
				t.Errorf("epoch %d", got.Epoch)
			}
			if again, _ := claim.Decide(got, true, func(record.Allocation) bool { return false }); again == Added || again == Completed {
				t.Errorf("once more it is %s", again)
			}
		})
	}
}
