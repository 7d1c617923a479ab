package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/bolt-local/bolt-local/store/record"
)

func TestReadAttachments(t *testing.T) {
	a := record.Attachment{ContainerID: "a", IfName: "eth0"}
	for name, c := range map[string]struct {
		text string
		want []record.Attachment
		fail string // in the error
	}{
		"a list":                    {`[{"containerID":"a","ifname":"eth0"}]`, []record.Attachment{a}, ""},
		"an empty list":             {`[]`, []record.Attachment{}, ""},
		"with space around":         {"\n [] \n", []record.Attachment{}, ""},
		"what dump prints":          {`[{"ip":"10.0.0.2","containerID":"a","ifname":"eth0","state":"active"}]`, []record.Attachment{a}, ""},
		"the key of the CNI spec":   {`{"cni.dev/valid-attachments":[{"containerID":"a","ifname":"eth0"}]}`, []record.Attachment{a}, ""},
		"null":                      {`null`, nil, "JSON array"},
		"the key with null":         {`{"cni.dev/valid-attachments":null}`, nil, "JSON array"},
		"an object without the key": {`{"attachments":[]}`, nil, "JSON array"},
		"nothing":                   {``, nil, "JSON array"},
		"a string":                  {`"a"`, nil, "JSON array"},
		"a number":                  {`7`, nil, "JSON array"},
		"a list of ids":             {`["a"]`, nil, "[0]"},
		"no ifname":                 {`[{"containerID":"a","ifname":"eth0"},{"containerID":"b"}]`, nil, "[1].ifname"},
		"an empty containerID":      {`[{"containerID":"","ifname":"eth0"}]`, nil, "[0].containerID"},
		"cut off":                   {`[{"containerID":"a","ifname":"eth0"}`, nil, "JSON array"},
		"two lists":                 {`[],"x":[]`, nil, "JSON array"},
		"a list that closes early":  {`[]} {"a":[]`, nil, "JSON array"},
		"GC switched off":           {`{"cni.dev/valid-attachments":[],"disableGC":true}`, nil, "disableGC"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readAttachments("-", strings.NewReader(c.text))
			if c.fail == "" {
				if err != nil || got == nil || !slices.Equal(got, c.want) {
					t.Errorf("got %v, %v, want %v", got, err, c.want)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.fail) || !strings.Contains(err.Error(), "stdin") {
				t.Errorf("got %v, %v, want an error that names stdin and %s", got, err, c.fail)
			}
		})
	}
}
