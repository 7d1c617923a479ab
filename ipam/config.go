package ipam

import (
	"net/netip"
	"time"

	"github.com/containernetworking/cni/pkg/types"
	"github.com/containernetworking/cni/pkg/version"

	"github.com/bolt-local/bolt-local/internal/cmdline"
	"github.com/bolt-local/bolt-local/store/record"
)

// Defaults and bounds of the configuration.
const (
	DefaultDataDir      = cmdline.DefaultDataDir
	DefaultLegacyParent = "/var/lib/cni/networks" // host-local's own default
	DefaultLockTimeout  = 10 * time.Second

	maxLockTimeout = 10 * time.Minute
)

// DefaultCNICacheDirs returns where libcni and multus keep their results.
func DefaultCNICacheDirs() []string {
	return []string{"/var/lib/cni/results", "/var/lib/cni/multus/results"}
}

// Role is the way in which the plugin is called.
type Role int

const (
	// Delegate: another plugin's configuration, whose ipam.type is ours.
	Delegate Role = iota
	// Chained: the configuration's own type is ours, in the list of plugins.
	Chained
)

// chainedType is the type that makes a configuration one of the chained role.
const chainedType = "bolt-local"

// Config is the configuration of one call.
type Config struct {
	Network string
	// CNIVersion is the version of the result; "0.1.0" where none is given.
	CNIVersion string
	Role       Role

	// DataDir is absolute.
	DataDir                 string
	LockTimeout             time.Duration
	StatusIgnoresExhaustion bool
	// CNICacheDirs are absolute; none where the configuration has an empty list.
	CNICacheDirs []string
	Migration    MigrationConfig
	// LegacyParent is the directory, absolute, in which host-local would keep
	// the network's directory under this configuration.
	LegacyParent string

	// RangeSets are canonical, in host-local's order: those of the runtime, the
	// old-style range, ipam.ranges. The chained role has none.
	RangeSets []record.RangeSet
	// Requested are the addresses asked for, none twice.
	Requested  []netip.Addr
	Routes     []*types.Route
	ResolvConf string
	Pod        record.Pod

	// Warnings are for stderr: fields that are probably misspelt, and what a
	// lenient reading passed over.
	Warnings []string
}

// MigrationConfig is ipam.migration, empty where nothing is given.
type MigrationConfig struct {
	// Phase is the phase to reach: legacy, expand, switch or contract.
	Phase string
	// HostLocalDir is the parent directory that host-local uses, absolute.
	HostLocalDir string
}

// ParseConfig reads the configuration for a verb that gives out addresses: ADD,
// with its CNI_ARGS. Every error carries a code, [CodeDecode], [CodeConfig] or
// [CodeEnvironment], and names the field.
//
// In the chained role only the network, the data directory and the other
// settings of the state are read.
func ParseConfig(stdin []byte, cniArgs string) (*Config, error) {
	return (&decoder{}).config(stdin, cniArgs)
}

// parseForStatus is [ParseConfig] for STATUS, which has no CNI_ARGS, and to which no
// runtime gives runtimeConfig: there may be no range sets where the runtime has them.
func parseForStatus(stdin []byte) (*Config, error) {
	return (&decoder{status: true}).config(stdin, "")
}

func (d *decoder) config(stdin []byte, cniArgs string) (*Config, error) {
	top := d.document(stdin, topSchema)
	ipam := d.child(top, "ipam", ipamSchema)
	cfg := d.settings(top, ipam)
	if cfg.Role == Delegate {
		if ipam.fields == nil {
			d.fail(Errorf(CodeConfig, "ipam is missing"))
		}
		cfg.Requested, cfg.Pod = d.requested(top, cniArgs)
		cfg.Routes = d.routes(ipam)
		cfg.ResolvConf = d.text(ipam, "resolvConf")
		cfg.RangeSets = d.rangeSets(top, ipam)
		if len(cfg.RangeSets) > 0 || !d.status || !bringsRanges(top) {
			d.checkRangeSets(cfg)
		}
	}
	if d.err != nil {
		return nil, d.named(cfg.Network)
	}
	cfg.Warnings = d.warnings
	return cfg, nil
}

// parseSettings reads everything but the addressing, for GC: it frees, so the
// data directory must be certain, whatever the ranges say. Its errors are those
// of [ParseConfig], but a name that no network can have is a warning, and
// Network is empty then.
func parseSettings(stdin []byte) (*Config, error) {
	d := &decoder{frees: true}
	top := d.document(stdin, topSchema)
	cfg := d.settings(top, d.child(top, "ipam", ipamSchema))
	if d.err != nil {
		return nil, d.named(cfg.Network)
	}
	cfg.Warnings = d.warnings
	return cfg, nil
}

// named is the error with the network in front, where that is known.
func (d *decoder) named(network string) error {
	if network == "" {
		return d.err
	}
	return Errorf(CodeOf(d.err), "network %s: %w", network, d.err)
}

// ParseLenient reads the configuration for a verb that looks at what is
// recorded: DEL and CHECK, which must work under a configuration that has
// changed or is broken. What is wrong has its default and a warning: none for
// the name, which is empty then. Of the addressing there are only the range
// sets, and none where one of them is wrong.
func ParseLenient(stdin []byte) *Config {
	d := &decoder{lenient: true}
	top := d.document(stdin, topSchema)
	ipam := d.child(top, "ipam", ipamSchema)
	cfg := d.settings(top, ipam)
	if cfg.Role == Delegate {
		cfg.RangeSets = d.rangeSets(top, ipam)
	}
	cfg.Warnings = d.warnings
	return cfg
}

// The fields that are read. Those of the outer objects belong to all plugins.
var (
	topSchema = schema{
		names: []string{"cniVersion", "name", "type", "ipam", "runtimeConfig", "args"},
		hints: []string{"capabilities", "isGateway", "isDefaultGateway"}, // libcni's, and bridge's
	}

	ipamSchema = schema{ours: true, names: []string{
		"type", "subnet", "rangeStart", "rangeEnd", "gateway", "ranges", "routes", "dataDir", "resolvConf",
		"exclude", "lockTimeout", "statusIgnoresExhaustion", "cniCacheDirs", "migration",
	}}
	rangeSchema     = schema{ours: true, names: []string{"subnet", "rangeStart", "rangeEnd", "gateway", "exclude"}}
	routeSchema     = schema{ours: true, names: []string{"dst", "gw", "mtu", "advmss", "priority", "table", "scope"}}
	migrationSchema = schema{ours: true, names: []string{"phase", "hostLocalDir"}}

	runtimeSchema = schema{names: []string{"ipRanges", "ips"}}
	argsSchema    = schema{names: []string{"cni"}}
	ipsSchema     = schema{names: []string{"ips"}}
)

// bringsRanges tells whether the configuration asks the runtime for range sets.
func bringsRanges(top object) bool {
	capabilities, _ := top.fields["capabilities"].(map[string]any)
	return capabilities["ipRanges"] == true
}

// checkRangeSets refuses what an ADD could not answer.
func (d *decoder) checkRangeSets(cfg *Config) {
	if len(cfg.RangeSets) == 0 {
		d.fail(Errorf(CodeConfig, "no address ranges: give ipam.subnet or ipam.ranges"))
		return
	}
	if several, err := version.GreaterThanOrEqualTo(cfg.CNIVersion, "0.3.0"); err == nil && several {
		return
	}
	count := map[string]int{}
	for _, set := range cfg.RangeSets {
		fam := family(set[0].Start)
		if count[fam]++; count[fam] > 1 {
			d.fail(Errorf(CodeConfig, "cniVersion %s has room for one %s address, but there is more than one %s range set; use 0.3.0 or newer",
				quoted(cfg.CNIVersion), fam, fam))
			return
		}
	}
}
