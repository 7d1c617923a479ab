package nodestatus

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/migrate"
	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/migrate/form"
	"github.com/bolt-local/bolt-local/store"
)

func TestWhatIsThereInsteadOfTheTombstone(t *testing.T) {
	dir := t.TempDir()
	r := Reader{State: migrate.State{Store: store.New(dir, store.Options{})}}
	running := r.State.Store.BootID()
	ours := form.Tombstone{Network: "podnet", DataDir: dir, BootID: running}
	earlier, others, name, spelling := ours, ours, ours, ours
	earlier.BootID = "an-earlier-boot"
	others.DataDir = filepath.Join(dir, "other")
	name.Network, name.BootID = "cells", "an-earlier-boot"
	spelling.DataDir = dir + "/."
	for story, c := range map[string]struct {
		found engine.View
		want  string // in the text; "": it is the tombstone
		cure  string // at its end
	}{
		"our own":                    {engine.View{Old: form.Contents{Shut: &ours}}, "", ""},
		"our own of an earlier boot": {engine.View{Old: form.Contents{Shut: &earlier}}, "", ""},
		"our own, the directory spelled in another way": {engine.View{Old: form.Contents{Shut: &spelling}}, "", ""},
		"of another checkpoint in this boot":            {engine.View{Old: form.Contents{Shut: &others}}, "in the data directory " + others.DataDir, gapAnothers},
		"of another network":                            {engine.View{Old: form.Contents{Shut: &name}}, "is that of network cells", gapMends},
		"a file that somebody has put there":            {engine.View{Old: form.Contents{Shut: &form.Tombstone{}}}, "not bolt-local's", gapStays},
		"nothing":                                       {engine.View{Old: form.Contents{}}, "nothing is at /n/podnet", gapMends},
		"an empty directory":                            {engine.View{Old: form.Contents{Exists: true, Bare: true}}, "an empty directory is at /n/podnet", gapMends},
		"the directory that was to be swapped":          {engine.View{Old: form.Contents{Exists: true}}, "directory is still at /n/podnet", gapMends},
		"what cannot be read":                           {engine.View{Unseen: unix.EACCES}, "/n/podnet (permission denied)", "make it readable"},
	} {
		t.Run(story, func(t *testing.T) {
			c.found.Progress.OldPath = "/n/podnet"
			got := r.findGap("podnet", c.found)
			if (got == "") != (c.want == "") || !strings.Contains(got, c.want) || !strings.HasSuffix(got, c.cure) {
				t.Errorf("got %q, want %q; %q", got, c.want, c.cure)
			}
		})
	}
}

func TestAFileInThePlaceOfTheDirectory(t *testing.T) {
	dir := t.TempDir()
	r := Reader{State: migrate.State{Store: store.New(dir, store.Options{})}}
	running := r.State.Store.BootID()
	tombstone := func(dataDir, boot string) *form.Tombstone {
		return &form.Tombstone{Network: "podnet", DataDir: dataDir, BootID: boot}
	}
	for story, c := range map[string]struct {
		phase engine.Phase
		found *form.Tombstone
		want  string // in the error; "": it is not in the way
	}{
		"none":                            {engine.Switch, nil, ""},
		"somebody's":                      {engine.Switch, &form.Tombstone{}, "/n/podnet is a file, not host-local's directory"},
		"somebody's, in legacy":           {engine.Legacy, &form.Tombstone{}, "each ADD fails until it is moved away"},
		"somebody's, where none is read":  {engine.Contract, &form.Tombstone{}, ""},
		"our own tombstone, gives way":    {engine.Expand, tombstone(dir, running), ""},
		"another checkpoint's":            {engine.Switch, tombstone("/other", running), "the tombstone of network podnet in the data directory /other: each ADD fails until ipam.dataDir is that directory; do not remove the file"},
		"another checkpoint's, of before": {engine.Switch, tombstone("/other", "an-earlier-boot"), ""},
	} {
		t.Run(story, func(t *testing.T) {
			err := r.inTheWay("podnet", engine.View{
				Progress: engine.Progress{Phase: c.phase, OldPath: "/n/podnet"},
				Old:      form.Contents{Shut: c.found},
			})
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
