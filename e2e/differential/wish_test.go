package differential

import (
	"net/netip"
	"strings"
)

// parseWish parses a requested address, with or without a prefix length.
func parseWish(text string) netip.Addr {
	address, _, _ := strings.Cut(text, "/")
	return netip.MustParseAddr(address)
}

// lastIPArg is the value of the last IP= of CNI_ARGS: that one counts.
func lastIPArg(cniArgs string) string {
	value := ""
	for _, pair := range strings.Split(cniArgs, ";") {
		if v, ok := strings.CutPrefix(pair, "IP="); ok {
			value = v
		}
	}
	return value
}
