package migrate

import (
	"slices"

	"github.com/bolt-local/bolt-local/internal/cmdline"
	"github.com/bolt-local/bolt-local/ipam"
)

// Sources are those that a repair of this checkpoint has to be told: what the
// call's configuration or the operator's flags name, and no command looks at by
// itself.
func (s State) Sources() cmdline.Sources {
	known := []string{ipam.DefaultLegacyParent, s.Store.Dir()}
	var found cmdline.Sources
	add := func(dirs ...string) {
		for _, dir := range dirs {
			if !slices.Contains(known, dir) {
				known = append(known, dir)
				found.HostLocalDirs = append(found.HostLocalDirs, dir)
			}
		}
	}
	add(s.LegacyParents...)
	if s.Config != nil && s.Config.Role != ipam.Chained {
		add(s.Config.LegacyParent)
		if dirs := s.Config.CNICacheDirs; !slices.Equal(dirs, ipam.DefaultCNICacheDirs()) {
			found.CacheDirs = dirs
		}
	}
	return found
}

// repair is the command that repairs this checkpoint.
func (s State) repair(flags ...string) string {
	return s.Sources().Command(s.Store.Dir(), append([]string{"repair"}, flags...)...)
}

// command is one about a network of this checkpoint.
func (s State) command(network string, words ...string) string {
	return cmdline.Command(s.Store.Dir(), append(words, "--network", cmdline.Word(network))...)
}
