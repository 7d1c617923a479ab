package nodestatus

import (
	"path/filepath"
	"strings"
	"time"

	"github.com/bolt-local/bolt-local/cmd/internal/wording"
	"github.com/bolt-local/bolt-local/store"
)

// FormerDamage is what became of a checkpoint that was damaged.
type FormerDamage struct {
	Time    time.Time    `json:"time"`
	Problem string       `json:"problem,omitempty"`
	From    store.Source `json:"from"`
	Network string       `json:"network,omitempty"`
	// Kept is the path of the file that was replaced, "" where none was kept.
	Kept string `json:"kept,omitempty"`
}

// FormerDamages are all that is noted in the checkpoint of a data directory.
func FormerDamages(all []store.Damage, dataDir string) []FormerDamage {
	list := make([]FormerDamage, len(all))
	for i, d := range all {
		list[i] = FormerDamage{Time: d.Time.UTC(), Problem: d.Problem, From: d.From, Network: d.Network}
		if d.Kept != "" {
			list[i].Kept = filepath.Join(dataDir, d.Kept)
		}
	}
	return list
}

// String tells what happened, without an end.
func (d FormerDamage) String() string {
	var parts []string
	if d.Problem != "" {
		parts = append(parts, wording.OneLine(d.Problem))
	}
	kept := "the damaged file"
	switch d.From {
	case store.SourceJournal:
		parts = append(parts, "everything was taken over from the journal")
	case store.SourceOldForm:
		parts = append(parts, "network "+d.Network+" was taken over from host-local's directory, and all others were lost")
	case store.SourceNewBoot:
		parts = append(parts, "it was begun anew, as nothing of an earlier boot is alive")
	case store.SourceRepair:
		parts = append(parts, "it was repaired")
	case store.SourceBackup:
		parts = append(parts, "a backup was restored by hand")
		kept = "the file before"
	}
	if d.Kept != "" {
		parts = append(parts, kept+" is kept as "+d.Kept)
	}
	return d.Time.Format("2006-01-02 15:04:05 MST") + ": " + strings.Join(parts, "; ")
}
