package netconf

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/containernetworking/cni/pkg/utils"

	"github.com/bolt-local/bolt-local/cmd/bolt-local-agent/internal/smallfile"
	"github.com/bolt-local/bolt-local/ipam"
)

// A list may have plugins in a directory of the network's name beside its file,
// from libcni 1.3 on (libcni/conf.go, NetworkConfFromFile). They come after those
// that it has itself.
const (
	listExtension   = ".conflist"
	pluginExtension = ".conf"
)

// beside reads the plugins in the directory of the list in path, whose text is
// doc. The error names each file that cannot be read.
func beside(path string, doc []byte) ([]*ipam.Config, error) {
	var l list
	if json.Unmarshal(doc, &l) != nil || utils.ValidateNetworkName(l.Name) != nil || l.LoadOnlyInlinedPlugins {
		return nil, nil // what is wrong with the list itself is known by now
	}
	dir := filepath.Join(filepath.Dir(path), l.Name)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("its plugins: %w", err)
	}
	var (
		configs []*ipam.Config
		errs    []error
	)
	for _, e := range entries {
		if filepath.Ext(e.Name()) != pluginExtension || e.IsDir() {
			continue
		}
		file := filepath.Join(dir, e.Name())
		plugin, err := smallfile.Read(file)
		var c *ipam.Config
		if err == nil {
			c, err = config(l, plugin)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("its plugin %s: %w", file, err))
		}
		if c != nil {
			configs = append(configs, c)
		}
	}
	return configs, errors.Join(errs...)
}

// flag is true or false, also as a text, as libcni reads it.
type flag bool

// UnmarshalJSON implements [json.Unmarshaler].
func (f *flag) UnmarshalJSON(doc []byte) error {
	var is bool
	if json.Unmarshal(doc, &is) == nil {
		*f = flag(is)
		return nil
	}
	var text string
	err := json.Unmarshal(doc, &text)
	switch strings.ToLower(text) {
	case "true":
		*f = true
	case "false":
		*f = false
	default:
		return fmt.Errorf("loadOnlyInlinedPlugins is %s, neither true nor false", doc)
	}
	return err
}
