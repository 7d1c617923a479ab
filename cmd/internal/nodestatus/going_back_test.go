package nodestatus

import (
	"os"
	"path/filepath"
	"testing"
)

func TestWhichDataDirGoingBackNeeds(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink(dir, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for story, c := range map[string]struct{ dataDir, directory, want string }{
		"nothing is named":                       {"/var/lib/cni/bolt-local", "/var/lib/cni/networks/podnet", ""},
		"dataDir, as host-local had it":          {"/srv/a", "/srv/a/podnet", ""},
		"the default dataDir, named":             {"/var/lib/cni/bolt-local", "/var/lib/cni/bolt-local/podnet", ""},
		"dataDir, by another path":               {dir, filepath.Join(dir, "link", "podnet"), ""},
		"dataDir elsewhere, and hostLocalDir":    {"/srv/b", "/srv/a/podnet", "/srv/a"},
		"hostLocalDir alone":                     {"/var/lib/cni/bolt-local", "/srv/a/podnet", "/srv/a"},
		"dataDir, and host-local's default":      {"/srv/b", "/var/lib/cni/networks/podnet", "/var/lib/cni/networks"},
		"a network whose directory is not known": {"/srv/b", "", ""},
	} {
		if got := parentToName(c.dataDir, c.directory); got != c.want {
			t.Errorf("%s: %q, want %q", story, got, c.want)
		}
	}
}
