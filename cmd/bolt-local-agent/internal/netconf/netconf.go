// Package netconf finds the node's networks that take their addresses from
// bolt-local, in a directory of CNI configurations.
package netconf

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bolt-local/bolt-local/cmd/bolt-local-agent/internal/smallfile"
	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/store/record"
)

// DefaultDir is where runtimes look.
const DefaultDir = "/etc/cni/net.d"

// pluginType is the type that names us, as plugin and as IPAM plugin.
const pluginType = "bolt-local"

// flannelType is a main plugin that adds the node's ranges to ipam in each call.
const flannelType = "flannel"

// extensions are those of files that libcni reads (libcni/conf.go, ConfFiles).
var extensions = []string{".conf", ".conflist", ".json"}

// Load reads the configurations in dir, in the order of their names. A network
// of which there are several counts once, as its first file says, with the ranges
// of all: any of them may have given out an address. What cannot be read is left
// out; the errors name each such file, and a directory that is missing.
func Load(dir string) ([]*ipam.Config, []error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, []error{fmt.Errorf("the network configurations: %w", err)}
	}
	var (
		all  []*ipam.Config
		errs []error
	)
	for _, e := range entries {
		if !slices.Contains(extensions, filepath.Ext(e.Name())) || e.IsDir() {
			continue
		}
		path := filepath.Join(dir, e.Name())
		configs, err := read(path)
		if err != nil {
			errs = append(errs, fmt.Errorf("the network configuration %s is left out: %w", path, err))
		}
		for _, c := range configs {
			i := slices.IndexFunc(all, func(o *ipam.Config) bool { return o.Network == c.Network && o.Role == c.Role })
			switch {
			case i < 0:
				all = append(all, c)
			case all[i].DataDir == c.DataDir:
				all[i].RangeSets = union(all[i].RangeSets, c.RangeSets)
			default:
				errs = append(errs, fmt.Errorf("the network configuration %s is left out: network %s has ipam.dataDir %s there, and %s in a file before it", path, c.Network, c.DataDir, all[i].DataDir))
			}
		}
	}
	return all, errs
}

func union(sets, more []record.RangeSet) []record.RangeSet {
	for _, m := range more {
		if !slices.ContainsFunc(sets, func(s record.RangeSet) bool { return s.String() == m.String() }) {
			sets = append(sets, m)
		}
	}
	return sets
}

// list is a configuration list, a single configuration, or multus' with
// delegates, each of which is one of the other two.
type list struct {
	CNIVersion string            `json:"cniVersion"`
	Name       string            `json:"name"`
	Plugins    []json.RawMessage `json:"plugins"`
	Delegates  []json.RawMessage `json:"delegates"`

	LoadOnlyInlinedPlugins flag `json:"loadOnlyInlinedPlugins"`
}

func read(path string) ([]*ipam.Config, error) {
	b, err := smallfile.Read(path)
	if err != nil {
		return nil, err
	}
	configs, err := parse(b)
	if filepath.Ext(path) != listExtension {
		return configs, err
	}
	more, moreErr := beside(path, b)
	return append(configs, more...), errors.Join(err, moreErr)
}

func parse(doc []byte) ([]*ipam.Config, error) {
	var l list
	if err := json.Unmarshal(doc, &l); err != nil {
		return nil, err
	}
	var (
		configs []*ipam.Config
		errs    []error
	)
	for _, delegate := range l.Delegates {
		some, err := parse(delegate)
		configs, errs = append(configs, some...), append(errs, err)
	}
	plugins := l.Plugins
	if len(plugins) == 0 {
		plugins = []json.RawMessage{doc}
	}
	for _, plugin := range plugins {
		c, err := config(l, plugin)
		if errs = append(errs, err); c != nil {
			configs = append(configs, c)
		}
	}
	return configs, errors.Join(errs...)
}

// config reads the configuration of one plugin as that is called with it, nil
// where it does not use us.
func config(l list, plugin json.RawMessage) (*ipam.Config, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(plugin, &fields); err != nil {
		return nil, err
	}
	var types struct {
		Type         string
		IPAM         struct{ Type string }
		Capabilities struct{ IPRanges bool }
	}
	if err := json.Unmarshal(plugin, &types); err != nil {
		return nil, err
	}
	if types.Type != pluginType && types.IPAM.Type != pluginType {
		return nil, nil
	}
	for name, value := range map[string]string{"name": l.Name, "cniVersion": l.CNIVersion} { // as libcni does
		if value == "" {
			continue
		}
		text, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		fields[name] = text
	}
	stdin, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	if types.Capabilities.IPRanges || types.Type == flannelType { // each ADD brings the ranges, which the file need not have
		c := ipam.ParseLenient(stdin)
		if c.Network == "" {
			return nil, errors.New(strings.Join(c.Warnings, "; "))
		}
		return c, nil
	}
	return ipam.ParseConfig(stdin, "")
}
