package ipam

import (
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// settings reads everything but the addressing.
func (d *decoder) settings(top, ipam object) *Config {
	cfg := &Config{
		Network:                 d.network(top),
		CNIVersion:              d.text(top, "cniVersion"),
		DataDir:                 d.directory(ipam, "dataDir"),
		LockTimeout:             d.lockTimeout(ipam),
		StatusIgnoresExhaustion: d.boolean(ipam, "statusIgnoresExhaustion"),
		CNICacheDirs:            d.cacheDirs(ipam),
		Migration:               d.migration(ipam),
	}
	if cfg.CNIVersion == "" {
		cfg.CNIVersion = "0.1.0"
	}
	if d.text(top, "type") == chainedType {
		cfg.Role = Chained
	}
	d.text(ipam, "type") // the main plugin has read it; only its JSON type matters here

	switch {
	case cfg.Migration.HostLocalDir != "":
		cfg.LegacyParent = cfg.Migration.HostLocalDir
	case cfg.DataDir != "":
		cfg.LegacyParent = cfg.DataDir
	default:
		cfg.LegacyParent = DefaultLegacyParent
	}
	if cfg.DataDir == "" {
		cfg.DataDir = DefaultDataDir
	}
	return cfg
}

// directory reads a path, and makes it absolute: the next call, or the command
// line, may have another working directory.
func (d *decoder) directory(o object, name string) string {
	return d.absolute(textAt{o.at(name), d.text(o, name)})
}

func (d *decoder) absolute(f textAt) string {
	switch {
	case f.text == "":
		return ""
	case strings.ContainsRune(f.text, 0):
		d.fail(invalid(f, "has a NUL byte"))
		return ""
	case filepath.IsAbs(f.text):
		return filepath.Clean(f.text)
	}
	path, err := filepath.Abs(f.text)
	if err != nil {
		d.fail(invalid(f, "is relative, and there is no working directory: %v", err))
		return ""
	}
	d.warn("%s %s is relative and taken as %s; write an absolute path", f.path, quoted(f.text), path)
	return path
}

// lockTimeout reads the longest wait for all locks together.
func (d *decoder) lockTimeout(ipam object) time.Duration {
	f := textAt{ipam.at("lockTimeout"), d.text(ipam, "lockTimeout")}
	if f.text == "" {
		return DefaultLockTimeout
	}
	duration, err := time.ParseDuration(f.text)
	switch {
	case err != nil:
		d.fail(invalid(f, "is not a duration such as 10s or 1m30s"))
		return DefaultLockTimeout
	case duration <= 0 || duration > maxLockTimeout:
		d.fail(invalid(f, "is not above 0 and up to %s", maxLockTimeout))
		return DefaultLockTimeout
	}
	return duration
}

// cacheDirs reads the directories of libcni's result caches.
func (d *decoder) cacheDirs(ipam object) []string {
	texts := d.texts(ipam, "cniCacheDirs")
	if texts == nil {
		return DefaultCNICacheDirs()
	}
	dirs := make([]string, 0, len(texts))
	for _, f := range texts {
		if dir := d.absolute(f); dir != "" {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// migration reads ipam.migration.
func (d *decoder) migration(ipam object) MigrationConfig {
	o := d.child(ipam, "migration", migrationSchema)
	m := MigrationConfig{Phase: d.text(o, "phase"), HostLocalDir: d.directory(o, "hostLocalDir")}
	if phases := []string{"", "legacy", "expand", "switch", "contract"}; !slices.Contains(phases, m.Phase) {
		d.fail(invalid(textAt{o.at("phase"), m.Phase}, "is not one of legacy, expand, switch, contract"))
		m.Phase = ""
	}
	return m
}
