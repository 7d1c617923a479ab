package store

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bolt-local/bolt-local/store/record"
)

// Restore puts a backup in the place of the checkpoint, without forgetting what
// this boot knows: what is held now stays held, and what the backup says of this
// boot comes back where its namespace is still there. The checkpoint that is
// replaced is kept. Where neither it nor the journal is sound, Restore is Repair
// with the backup as one more source. r.Accept and r.DryRun are as for Repair.
//
// The error wraps ErrFormat for a backup that only a newer version may write,
// and ErrBackup for one that is not whole.
func (s *Store) Restore(r Repair) (Report, error) {
	bootID := s.opts.BootID()
	backup, err := s.readFile(r.Backup, "the backup", r.Deadline)
	if err != nil {
		return Report{}, err
	}
	if !r.DryRun {
		if err := makeDir(s.dir, 0o700); err != nil {
			return Report{}, noSpace(err)
		}
	}
	l, err := s.lockForRepair(r)
	if r.DryRun && errors.Is(err, ErrNoCheckpoint) {
		l, err = noLock{}, nil
	}
	if err != nil {
		return Report{}, err
	}
	current, problem, err := s.current(bootID, r.Deadline)
	if errors.Is(err, ErrDamaged) && !errors.Is(err, ErrNotRegular) {
		_ = l.Unlock()
		return s.Repair(r)
	}
	defer l.Unlock()
	if err != nil {
		return Report{}, err
	}
	m := reconciling{store: s, repair: r, bootID: bootID, backup: backup.content}
	if problem != nil {
		m.report.Problem, m.report.Complete = problem, TheJournal
	}
	m.backup.endLosses(bootID)
	c, err := m.run(current)
	if err != nil || r.DryRun || problem == nil && !m.changed {
		return m.report, err
	}
	d, suffix := Damage{From: SourceBackup}, replacedSuffix
	if problem != nil {
		d.Problem, suffix = problem.Error(), damagedSuffix
	}
	m.report.Kept, err = s.replace(l, bootID, c, d, suffix)
	if err != nil {
		return m.report, fmt.Errorf("restoring %s: %w", s.Path(), noSpace(err))
	}
	return m.report, nil
}

// current is what the checkpoint holds, nil where there is none. Where it is
// damaged, problem says how, and c is what the journal holds. The error wraps
// ErrDamaged where that is not whole either.
func (s *Store) current(bootID string, deadline time.Time) (c *content, problem, err error) {
	err = s.view(viewing{bootID: bootID, deadline: deadline, whole: true}, func(t *Tx) (err error) {
		if t.problem != nil || !t.Exists() {
			return t.problem
		}
		c, err = readContent(t.bolt)
		return err
	})
	if !errors.Is(err, ErrDamaged) {
		return c, nil, err
	}
	journal, journalErr := readJournal(s.file(JournalFile))
	file, _ := salvage(s.Path(), "") // what cannot be read tells nothing
	if journalErr != nil || foreign(err, file.content, journal.content) || s.vouches(journal, file) != nil {
		return nil, nil, err
	}
	return journal.content, err, nil
}

// reconciling brings a backup and what is known now together.
type reconciling struct {
	store  *Store
	repair Repair
	bootID string
	backup *content
	report Report

	changed bool // there is something to be written
}

func (m *reconciling) run(current *content) (*content, error) {
	if current == nil {
		m.changed = true
		return m.alone()
	}
	claims := m.inForce(current, m.backup.claims("the backup", m.bootID, m.repair.Alive))
	rest := mergeRest([]source{{content: m.backup}}, m.bootID)
	delete(rest.buckets, bucketMeta)
	current.endLosses(m.bootID)
	for _, name := range rest.lostNetworks() {
		delete(rest.at(lossPath(name)...).values, keyLost)
		if current.at(bucketNetworks, name) != nil {
			continue // what is known now counts
		}
		loss := Loss{Epoch: current.currentEpoch(m.bootID), Reason: "allocations of it were missing when the backup was made"}
		if err := rest.lose(name, loss); err != nil {
			return nil, err
		}
	}
	if err := m.loseIn(rest, current); err != nil {
		return nil, err
	}
	m.changed = current.fillIn(rest)
	for _, cl := range claims {
		if err := m.claim(current, cl); err != nil {
			return nil, err
		}
	}
	m.losses(current)
	return current, nil
}

// inForce leaves out the claims of networks whose allocations are kept elsewhere.
func (m *reconciling) inForce(current *content, claims []claim) []claim {
	told := map[string]bool{}
	return slices.DeleteFunc(claims, func(cl claim) bool {
		doc := current.migration(cl.network)
		if doc == nil || m.repair.Elsewhere == nil || !m.repair.Elsewhere(doc) {
			return false
		}
		if !told[cl.network] {
			told[cl.network] = true
			m.report.Notes = append(m.report.Notes, fmt.Sprintf("network %s is in legacy: its directory alone counts, and nothing was taken from the backup", cl.network))
		}
		return true
	})
}

// loseIn marks the networks of rest that are not known now, where networks were
// lost: nobody knows what came after the backup.
func (m *reconciling) loseIn(rest, current *content) error {
	epoch := current.currentEpoch(m.bootID)
	others := current.get([]string{bucketMeta}, keyLost) != nil
	for name := range rest.at(bucketNetworks).each() {
		shut := slices.Contains(m.repair.Shut, name) && !current.accepted(epoch)
		if current.at(bucketNetworks, name) != nil || !others && !shut {
			continue
		}
		reason := cmp.Or(current.loss().Reason, "a tombstone of this boot stood where nothing was stored")
		if err := rest.lose(name, Loss{Epoch: epoch, Reason: reason}); err != nil {
			return err
		}
	}
	return nil
}

// losses keeps those that are known, unless they are accepted.
func (m *reconciling) losses(current *content) {
	epoch := current.currentEpoch(m.bootID)
	lost := current.lostNetworks()
	others := current.get([]string{bucketMeta}, keyLost) != nil
	if m.repair.Accept && (len(lost) > 0 || others) {
		current.acceptLoss(epoch)
		m.changed = true
		return
	}
	m.report.Lost, m.report.Others = lost, others
}

// alone is for a node without a checkpoint. Of this boot nobody knows what came
// after the backup.
func (m *reconciling) alone() (*content, error) {
	epochs := m.backup.at(bucketMeta, bucketEpochs)
	_, ofThisBoot := epochs.eachValue()[m.bootID]
	if m.repair.Accept {
		m.backup.acceptLoss(m.backup.currentEpoch(m.bootID))
		return m.backup, nil
	}
	if !ofThisBoot && !m.repair.names(m.bootID) {
		return m.backup, nil
	}
	loss := Loss{Epoch: m.backup.beginEpoch(m.bootID), Reason: "a backup was restored, and nothing tells what this boot has written after it"}
	for name := range m.backup.at(bucketNetworks).each() {
		m.report.Lost = append(m.report.Lost, name)
		if err := m.backup.lose(name, loss); err != nil {
			return nil, err
		}
	}
	m.report.Others = true
	return m.backup, m.backup.lose("", loss)
}

// claim adds what the backup says of one address, if that can still be so.
func (m *reconciling) claim(current *content, cl claim) error {
	addr := cl.alloc.Addr
	var now record.Allocation
	if value := current.get([]string{bucketNetworks, cl.network, bucketAllocations}, string(addrKey(addr))); value != nil {
		var err error
		if now, err = record.Decode(cl.network, addr, value); err != nil {
			return err
		}
		if earlier(now, current.currentEpoch(m.bootID), m.repair.Alive) {
			now.Holders = nil
		}
	}
	changed := false
	for _, h := range cl.alloc.Holders {
		note := fmt.Sprintf("network %s: %s, container %s, ifname %s: ", cl.network, addr, h.ContainerID, h.IfName)
		switch {
		case slices.ContainsFunc(now.Holders, func(other record.Holder) bool { return other.MayBe(h.Attachment) }):
			continue
		case !m.repair.Alive(h.NetNS) && len(now.Holders) > 0:
			note += "container " + now.Holders[0].ContainerID + " holds it now and keeps it"
		case !m.repair.Alive(h.NetNS):
			note += "freed since the backup, and stays so"
		case len(now.Holders) > 0:
			note += "its namespace is there, but container " + now.Holders[0].ContainerID + " has the address as well: delete the pod of one"
			now.Holders, changed = append(now.Holders, h), true
		default:
			note += "freed since the backup, but its namespace is there: it holds the address again"
			now, changed = record.Allocation{Addr: addr, Holders: []record.Holder{h}}, true
		}
		m.report.Notes = append(m.report.Notes, note)
	}
	if !changed {
		return nil
	}
	v := Vouched{Network: cl.network, Allocation: now, Sources: []string{cl.source}}
	m.report.Allocations = append(m.report.Allocations, v)
	m.changed = true
	current.updateMigration(cl.network, m.repair.Changed)
	return current.replaceAllocation(cl.network, now, m.bootID)
}
