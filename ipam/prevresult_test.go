package ipam

import "testing"

// The library's conversions follow each entry of a list, and JSON finds a key in
// any case.
func TestAnEntryOfPrevResultThatIsNullIsRefused(t *testing.T) {
	for _, doc := range []string{
		`{"cniVersion":"1.0.0","prevResult":{"ips":[null]}}`,
		`{"cniVersion":"1.0.0","prevResult":{"IPs":[null]}}`,
		`{"cniVersion":"0.4.0","prevResult":{"Interfaces":[{"name":"eth0"},null]}}`,
		`{"cniVersion":"1.1.0","prevResult":{"rouTes":[null]}}`,
	} {
		if _, _, err := prevAddresses([]byte(doc)); CodeOf(err) != CodeDecode {
			t.Errorf("%s: %v", doc, err)
		}
	}
}
