package ipam

import (
	"reflect"
	"testing"

	"github.com/bolt-local/bolt-local/store/record"
)

func TestGCTellsAbsentFromNullFromAList(t *testing.T) {
	a, b := record.Attachment{ContainerID: "a", IfName: "eth0"}, record.Attachment{ContainerID: "b", IfName: "net1"}
	for _, tt := range []struct {
		name, in string
		want     ValidAttachments
	}{
		{"no key", `{"name":"n"}`, ValidAttachments{}},
		{"null", `{"cni.dev/valid-attachments":null}`, ValidAttachments{Kind: AttachmentsNull}},
		{"an empty list", `{"cni.dev/valid-attachments":[]}`, ValidAttachments{Kind: AttachmentsListed, List: []record.Attachment{}}},
		{"a list", `{"cni.dev/valid-attachments":[{"containerID":"a","ifname":"eth0"},{"containerID":"b","ifname":"net1","more":1}]}`,
			ValidAttachments{Kind: AttachmentsListed, List: []record.Attachment{a, b}}},
		{"the case of keys does not matter", `{"CNI.dev/valid-attachments":[{"ContainerId":"a","ifName":"eth0"}]}`,
			ValidAttachments{Kind: AttachmentsListed, List: []record.Attachment{a}}},
		{"the older key alone", `{"cni.dev/attachments":[{"containerID":"a","ifname":"eth0"}]}`,
			ValidAttachments{Kind: AttachmentsListed, List: []record.Attachment{a}}},
		{"the older key with null", `{"cni.dev/attachments":null}`, ValidAttachments{Kind: AttachmentsNull}},
		{"the newer key counts", `{"cni.dev/attachments":[],"cni.dev/valid-attachments":[{"containerID":"b","ifname":"net1"}]}`,
			ValidAttachments{Kind: AttachmentsListed, List: []record.Attachment{b}}},
		{"null under the newer key is not absent", `{"cni.dev/attachments":[],"cni.dev/valid-attachments":null}`, ValidAttachments{Kind: AttachmentsNull}},
		{"disableGC", `{"disableGC":true}`, ValidAttachments{DisableGC: true}},
		{"disableGC as a string", `{"disableGC":"True","cni.dev/valid-attachments":null}`, ValidAttachments{Kind: AttachmentsNull, DisableGC: true}},
		{"disableGC that is off", `{"disableGC":"false"}`, ValidAttachments{}},
		{"disableGC that is null", `{"disableGC":null}`, ValidAttachments{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseValidAttachments([]byte(tt.in))
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("\n got %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

func TestGCDoesNotGuessAtAListThatIsPartlyUnderstood(t *testing.T) {
	const key = "cni.dev/valid-attachments"
	for _, tt := range []struct {
		name, in string
		code     uint
		text     string
	}{
		{"an object", `{"cni.dev/valid-attachments":{}}`, CodeConfig, key + " must be a list"},
		{"a string", `{"cni.dev/valid-attachments":"[]"}`, CodeConfig, key + " must be a list"},
		{"a wrong list under the newer key is not passed over", `{"cni.dev/attachments":[],"cni.dev/valid-attachments":1}`, CodeConfig, key},
		{"the older key", `{"cni.dev/attachments":false}`, CodeConfig, "cni.dev/attachments must be a list"},
		{"an entry that is a string", `{"cni.dev/valid-attachments":["a"]}`, CodeConfig, key + "[0] must be an object"},
		{"an entry that is null", `{"cni.dev/valid-attachments":[{"containerID":"a","ifname":"eth0"},null]}`, CodeConfig, key + "[1] must be an object"},
		{"no containerID", `{"cni.dev/valid-attachments":[{"ifname":"eth0"}]}`, CodeConfig, key + "[0].containerID"},
		{"no ifname", `{"cni.dev/valid-attachments":[{"containerID":"a"}]}`, CodeConfig, key + "[0].ifname"},
		{"an empty ifname", `{"cni.dev/valid-attachments":[{"containerID":"a","ifname":""}]}`, CodeConfig, key + "[0].ifname"},
		{"a containerID that is a number", `{"cni.dev/valid-attachments":[{"containerID":1,"ifname":"eth0"}]}`, CodeConfig, key + "[0].containerID"},
		{"a key that is given twice", `{"cni.dev/valid-attachments":[],"CNI.DEV/valid-attachments":null}`, CodeConfig, "given twice"},
		{"disableGC of another kind", `{"disableGC":1}`, CodeConfig, "disableGC"},
		{"disableGC of words", `{"disableGC":"yes"}`, CodeConfig, "disableGC"},
		{"no JSON", `{`, CodeDecode, "not JSON"},
		{"no object", `[]`, CodeDecode, "must be an object"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseValidAttachments([]byte(tt.in))
			wantError(t, err, tt.code, tt.text)
			if !reflect.DeepEqual(got, ValidAttachments{}) {
				t.Errorf("got %+v beside the error", got)
			}
		})
	}
}
