package ipam

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/containernetworking/cni/pkg/types"

	"github.com/bolt-local/bolt-local/store/record"
)

// envArgs are the keys of CNI_ARGS that need no IgnoreUnknown. LoadArgs finds a
// key by the name of the field, hence the underscores.
type envArgs struct {
	types.CommonArgs
	IP                         addrArg
	K8S_POD_NAMESPACE          types.UnmarshallableString
	K8S_POD_NAME               types.UnmarshallableString
	K8S_POD_UID                types.UnmarshallableString
	K8S_POD_INFRA_CONTAINER_ID types.UnmarshallableString
}

// addrArg is the address of CNI_ARGS' IP=, the zero Addr where that is empty.
type addrArg struct{ addr netip.Addr }

// UnmarshalText implements [encoding.TextUnmarshaler] for LoadArgs.
func (a *addrArg) UnmarshalText(text []byte) (err error) {
	a.addr = netip.Addr{}
	if len(text) > 0 {
		a.addr, err = parseRequested(textAt{"IP", string(text)})
	}
	return err
}

// parseEnvArgs reads CNI_ARGS: the address that it asks for, the zero Addr for
// none, and what a Kubernetes runtime tells of the pod.
func parseEnvArgs(cniArgs string) (netip.Addr, record.Pod, error) {
	var args envArgs
	if err := types.LoadArgs(withoutOtherPodArgs(cniArgs), &args); err != nil {
		return netip.Addr{}, record.Pod{}, Errorf(CodeEnvironment, "CNI_ARGS: %s", strings.TrimPrefix(err.Error(), "ARGS: "))
	}
	return args.IP.addr, record.Pod{
		Namespace:        string(args.K8S_POD_NAMESPACE),
		Name:             string(args.K8S_POD_NAME),
		UID:              string(args.K8S_POD_UID),
		InfraContainerID: string(args.K8S_POD_INFRA_CONTAINER_ID),
	}, nil
}

// withoutOtherPodArgs drops those K8S_POD_ keys that envArgs does not have: all
// of them are accepted without IgnoreUnknown.
func withoutOtherPodArgs(cniArgs string) string {
	if !strings.Contains(cniArgs, "K8S_POD_") {
		return cniArgs
	}
	pairs := slices.DeleteFunc(strings.Split(cniArgs, ";"), func(pair string) bool {
		key, _, ok := strings.Cut(pair, "=")
		switch key {
		case "K8S_POD_NAMESPACE", "K8S_POD_NAME", "K8S_POD_UID", "K8S_POD_INFRA_CONTAINER_ID":
			return false
		}
		return ok && strings.HasPrefix(key, "K8S_POD_")
	})
	return strings.Join(pairs, ";")
}

// requested reads the addresses that the call asks for and the pod that it is
// made for. The three ways to ask are merged as host-local merges them, in this
// order: CNI_ARGS, args.cni.ips, runtimeConfig.ips.
func (d *decoder) requested(top object, cniArgs string) ([]netip.Addr, record.Pod) {
	var list []netip.Addr
	seen := map[netip.Addr]bool{}
	add := func(a netip.Addr, err error) {
		if err != nil {
			d.fail(err)
		} else if a.IsValid() && !seen[a] {
			seen[a] = true
			list = append(list, a)
		}
	}
	fromArgs, pod, err := parseEnvArgs(cniArgs)
	add(fromArgs, err)
	cni := d.child(d.child(top, "args", argsSchema), "cni", ipsSchema)
	runtime := d.child(top, "runtimeConfig", runtimeSchema)
	for _, f := range slices.Concat(d.texts(cni, "ips"), d.texts(runtime, "ips")) {
		add(parseRequested(f))
	}
	return list, pod
}

// parseRequested parses an address with or without a prefix length. The length
// has no meaning, the result has that of the subnet, but it must be one.
func parseRequested(f textAt) (netip.Addr, error) {
	text, length, given := strings.Cut(f.text, "/")
	a, err := netip.ParseAddr(text)
	if err != nil || a.Zone() != "" {
		return netip.Addr{}, invalid(f, "is not an IP address, with or without a prefix length")
	}
	if given {
		if bits, err := strconv.ParseUint(length, 10, 8); err != nil || int(bits) > a.BitLen() {
			return netip.Addr{}, invalid(f, "has no prefix length from 0 to %d", a.BitLen())
		}
	}
	return a.Unmap(), nil
}

// notAll are host-local's words for requests that are left over.
const notAll = "failed to allocate all requested IPs"

// assignRequested deals the requested addresses out to the range sets: element
// i of the result is the one for sets[i], the zero Addr where that may give any.
// Whether they are taken is not looked at. Errors are of
// [CodeRequestedUnusable].
func assignRequested(sets []record.RangeSet, requested []netip.Addr) ([]netip.Addr, error) {
	assigned := make([]netip.Addr, len(sets))
	for _, a := range requested {
		if subnet, ok := gatewayOf(sets, a); ok {
			return nil, Errorf(CodeRequestedUnusable, "requested address %s is the gateway of subnet %s", a, subnet)
		}
		i, r, ok := setOf(sets, a)
		if !ok {
			return nil, Errorf(CodeRequestedUnusable, "%s: requested address %s is outside of all ranges: %s", notAll, a, listSets(sets))
		}
		if p, ok := excludedBy(r, a); ok {
			return nil, Errorf(CodeRequestedUnusable, "requested address %s is excluded from subnet %s by exclude entry %s", a, r.Subnet, p)
		}
		if other := assigned[i]; other.IsValid() {
			return nil, Errorf(CodeRequestedUnusable, "%s: requested addresses %s and %s are both of range set %s, which gives one address to an attachment", notAll, other, a, short(sets[i].String()))
		}
		assigned[i] = a
	}
	return assigned, nil
}

// setOf returns the range that contains a and the index of its set.
func setOf(sets []record.RangeSet, a netip.Addr) (int, record.Range, bool) {
	for i, set := range sets {
		if r, ok := set.RangeOf(a); ok {
			return i, r, true
		}
	}
	return 0, record.Range{}, false
}

// gatewayOf returns the subnet that a is the gateway of. One range may have its
// gateway among the addresses of another.
func gatewayOf(sets []record.RangeSet, a netip.Addr) (netip.Prefix, bool) {
	for _, set := range sets {
		for _, r := range set {
			if r.Gateway == a {
				return r.Subnet, true
			}
		}
	}
	return netip.Prefix{}, false
}

func listSets(sets []record.RangeSet) string {
	texts := make([]string, len(sets))
	for i, set := range sets {
		texts[i] = set.String()
	}
	return short(strings.Join(texts, "; "))
}
