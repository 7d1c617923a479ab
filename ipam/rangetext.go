package ipam

import "github.com/bolt-local/bolt-local/store/record"

// rangeText is a range as the configuration writes it; "" is unset.
type rangeText struct {
	// path leads to the object that holds the fields: "ipam.ranges[0][1]", or
	// "ipam" for a range of the old style.
	path                        string
	subnet, start, end, gateway string
	exclude                     []textAt
}

// field returns the text of a field with its path.
func (t rangeText) field(name, text string) textAt { return textAt{t.path + "." + name, text} }

// setText is a range set as the configuration writes it.
type setText struct {
	path   string
	ranges []rangeText
}

// rangeSets reads all range sets in canonical form and in host-local's order:
// those of the runtime, the old-style range, ipam.ranges. It returns none where
// one is wrong.
func (d *decoder) rangeSets(top, ipam object) []record.RangeSet {
	runtime := d.child(top, "runtimeConfig", runtimeSchema)
	texts := d.setTexts(runtime, "ipRanges")

	// The exclude list beside an old-style range is the one for all ranges.
	old := d.rangeText(ipam)
	exclude := old.exclude
	old.exclude = nil
	if old.subnet != "" {
		texts = append(texts, setText{ipam.path, []rangeText{old}})
	} else {
		d.warnUnused(ipam, "rangeStart", old.start)
		d.warnUnused(ipam, "rangeEnd", old.end)
		d.warnUnused(ipam, "gateway", old.gateway)
	}
	texts = append(texts, d.setTexts(ipam, "ranges")...)

	sets, err := canonicalSets(texts, exclude)
	if err != nil {
		d.fail(err)
	}
	d.warnMadeUpGateways(top, texts, sets)
	return sets
}

// warnMadeUpGateways tells of ranges without a gateway where bridge is to be one: it
// then gives itself the subnet's address plus one, which may be given out.
func (d *decoder) warnMadeUpGateways(top object, texts []setText, sets []record.RangeSet) {
	isGateway := top.fields["isGateway"] == true || top.fields["isDefaultGateway"] == true
	if d.lenient || top.fields["type"] != "bridge" || !isGateway {
		return
	}
	for i, set := range sets {
		for j, r := range set {
			if !r.Gateway.IsValid() {
				d.warn("%s.gateway is missing: bridge makes the address after %s its own, which a pod may be given; name a gateway for %s",
					texts[i].ranges[j].path, r.Subnet.Addr(), r.Subnet)
			}
		}
	}
}

// warnUnused tells of a field that host-local passes over in silence.
func (d *decoder) warnUnused(ipam object, name, text string) {
	if text != "" {
		d.warn("%s has no effect without %s", ipam.at(name), ipam.at("subnet"))
	}
}

// setTexts reads a list of range sets.
func (d *decoder) setTexts(o object, name string) []setText {
	var sets []setText
	for i, value := range d.list(o, name) {
		set := setText{path: index(o.at(name), i)}
		for j, value := range d.listValue(set.path, value) {
			set.ranges = append(set.ranges, d.rangeText(d.object(index(set.path, j), value, rangeSchema)))
		}
		sets = append(sets, set)
	}
	return sets
}

// rangeText reads one range.
func (d *decoder) rangeText(o object) rangeText {
	return rangeText{
		path:    o.path,
		subnet:  d.text(o, "subnet"),
		start:   d.text(o, "rangeStart"),
		end:     d.text(o, "rangeEnd"),
		gateway: d.text(o, "gateway"),
		exclude: d.texts(o, "exclude"),
	}
}
