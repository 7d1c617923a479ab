package differential

import (
	"fmt"
	"strings"
)

// roundRobin is a state of one range set and what the next ADD does.
type roundRobin struct {
	name    string
	subnets []string
	taken   []string
	last    string // the last address given; it is free again
	want    string
}

var roundRobins = []roundRobin{
	{"the first address", []string{"10.0.0.0/29"}, nil, "", "10.0.0.2/29"},
	{"the first address of IPv6", []string{"2001:db8:1::/64"}, nil, "", "2001:db8:1::2/64"},
	{"the only address", []string{"10.0.0.0/30"}, nil, "", "10.0.0.2/30"},
	{"the one after a taken one", []string{"10.0.0.0/29"}, []string{"10.0.0.2"}, "", "10.0.0.3/29"},
	{"the one after the last", []string{"10.0.0.0/29"}, nil, "10.0.0.5", "10.0.0.6/29"},
	{"the one after the last and taken ones", []string{"10.0.0.0/29"}, []string{"10.0.0.4", "10.0.0.5"}, "10.0.0.3", "10.0.0.6/29"},
	{"the first one after the end", []string{"10.0.0.0/29"}, []string{"10.0.0.6"}, "10.0.0.5", "10.0.0.2/29"},
	{"the last one again, if only that is free", []string{"10.0.0.0/29"},
		[]string{"10.0.0.2", "10.0.0.4", "10.0.0.5", "10.0.0.6"}, "10.0.0.3", "10.0.0.3/29"},
	{"one of the first of two ranges", []string{"10.0.0.0/30", "10.0.1.0/30"}, nil, "", "10.0.0.2/30"},
	{"one of the second of two ranges", []string{"10.0.0.0/30", "10.0.1.0/30"}, nil, "10.0.0.2", "10.0.1.2/30"},
	{"one of the first range after the last", []string{"10.0.0.0/30", "10.0.1.0/30", "10.0.2.0/30"}, nil, "10.0.2.2", "10.0.0.2/30"},
	{"none of a full /30", []string{"10.0.0.0/30"}, []string{"10.0.0.2"}, "", refused},
	{"none of a full /29", []string{"10.0.0.0/29"},
		[]string{"10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5", "10.0.0.6"}, "", refused},
	{"none of two full ranges", []string{"10.0.0.0/30", "10.0.1.0/30"}, []string{"10.0.0.2", "10.0.1.2"}, "", refused},
}

// allocatorCases bring each state about by calls, and then ADD.
func allocatorCases() []scenario {
	out := []scenario{
		{
			name: "loses its place when the last address is outside the range",
			ipam: `{"subnet": "10.0.0.0/29"}`,
			actions: []action{
				add("taken", "10.0.0.2/24").with(`{"subnet": "10.0.0.0/24"}`),
				add("last", "10.0.0.128/24").with(`{"subnet": "10.0.0.0/24"}`).asking("10.0.0.128"),
				del("last"),
				add("ID", "10.0.0.3/29"),
			},
		},
		{
			name: "does not allocate the broadcast address",
			ipam: `{"subnet": "192.168.1.0/29"}`,
			actions: []action{
				add("ID2", "192.168.1.2/29"), add("ID3", "192.168.1.3/29"), add("ID4", "192.168.1.4/29"),
				add("ID5", "192.168.1.5/29"), add("ID6", "192.168.1.6/29"), add("ID7", refused),
			},
		},
		{
			name:    "allocates in turn, not the lowest",
			ipam:    `{"subnet": "192.168.1.0/29"}`,
			actions: []action{add("ID", "192.168.1.2/29"), del("ID"), add("ID", "192.168.1.3/29")},
		},
	}
	for _, r := range roundRobins {
		out = append(out, r.scenario())
	}
	return out
}

func (r roundRobin) scenario() scenario {
	var ranges []string
	for _, subnet := range r.subnets {
		ranges = append(ranges, fmt.Sprintf(`{"subnet": %q}`, subnet))
	}
	s := scenario{
		name: "gives " + r.name,
		ipam: fmt.Sprintf(`{"ranges": [[%s]]}`, strings.Join(ranges, ", ")),
	}
	bits := r.subnets[0][strings.Index(r.subnets[0], "/"):]
	for _, address := range r.taken {
		s.actions = append(s.actions, add("holder-"+address, address+bits).asking(address))
	}
	if r.last != "" {
		s.actions = append(s.actions, add("last", r.last+bits).asking(r.last), del("last"))
	}
	s.actions = append(s.actions, add("ID", r.want))
	return s
}
