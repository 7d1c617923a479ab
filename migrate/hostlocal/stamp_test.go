package hostlocal

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// stampFiles has one of everything that a stamp covers, and of what it does not.
func stampFiles() files {
	f := someFiles()
	f["10.0.0.7"] = "" // set aside
	f["notes.txt"] = "x"
	return f
}

func TestAStampChangesWith(t *testing.T) {
	rewrite := func(name, content string) func(*testing.T, *Dir) {
		return func(t *testing.T, d *Dir) { must(t, os.WriteFile(d.file(name), []byte(content), 0o600)) }
	}
	remove := func(name string) func(*testing.T, *Dir) {
		return func(t *testing.T, d *Dir) { must(t, os.Remove(d.file(name))) }
	}
	// again makes the file anew, with the very same bytes.
	again := func(name string) func(*testing.T, *Dir) {
		return func(t *testing.T, d *Dir) {
			b, err := os.ReadFile(d.file(name))
			must(t, err)
			remove(name)(t, d)
			rewrite(name, string(b))(t, d)
		}
	}
	for name, change := range map[string]func(*testing.T, *Dir){
		"another holder":                           rewrite("10.0.0.2", "c\r\neth0"),
		"another ifname":                           rewrite("10.0.0.2", "a\r\neth1"),
		"the same bytes by another hand":           rewrite("10.0.0.2", "a\r\neth0"),
		"another line break":                       rewrite("10.0.0.2", "a\neth0"),
		"a file made again with the same bytes":    again("10.0.0.2"),
		"a file replaced by one with the same":     replaceWithSame("10.0.0.2"),
		"another mode":                             func(t *testing.T, d *Dir) { must(t, os.Chmod(d.file("10.0.0.2"), 0o640)) },
		"a second name of a file":                  func(t *testing.T, d *Dir) { must(t, os.Link(d.file("10.0.0.2"), d.file("x"))) },
		"a modification time put back":             putBackTime,
		"another name":                             func(t *testing.T, d *Dir) { must(t, os.Rename(d.file("10.0.0.2"), d.file("10.0.0.9"))) },
		"two names exchanged":                      exchangeTwo,
		"one reservation less":                     remove("10.0.0.2"),
		"one more":                                 rewrite("10.0.0.4", "c\r\neth0"),
		"a reservation emptied":                    rewrite("10.0.0.2", ""),
		"one more that names nobody":               rewrite("10.0.0.8", ""),
		"one less that names nobody":               remove("10.0.0.7"),
		"one that names somebody now":              rewrite("10.0.0.7", "c\r\neth0"),
		"one that names nobody, made again":        again("10.0.0.7"),
		"the lock removed":                         remove(lockName),
		"the lock made again":                      again(lockName),
		"the lock replaced":                        replaceWithSame(lockName),
		"the directory removed":                    func(t *testing.T, d *Dir) { must(t, os.RemoveAll(d.path)) },
		"the directory moved away":                 func(t *testing.T, d *Dir) { must(t, os.Rename(d.path, d.path+".away")) },
		"the directory replaced, the files moved":  moveFiles,
		"the directory replaced by an empty one":   func(t *testing.T, d *Dir) { must(t, os.RemoveAll(d.path)); must(t, os.Mkdir(d.path, 0o755)) },
		"the directory made again with all it had": func(t *testing.T, d *Dir) { must(t, os.RemoveAll(d.path)); writeFiles(t, d.path, stampFiles()) },
		"all files but the lock wiped":             func(t *testing.T, d *Dir) { remove("10.0.0.2")(t, d); remove("10.0.0.3")(t, d) },
		"a tombstone in its place":                 func(t *testing.T, d *Dir) { must(t, d.Shut(tombstone(bootA))) },
	} {
		t.Run(name, func(t *testing.T) {
			d := newDir(t, stampFiles())
			before := look(t, d).Stamp()
			tick(t)
			change(t, d)
			if after := look(t, d).Stamp(); after == before {
				t.Errorf("it is %q before and after", after)
			}
		})
	}
}

func replaceWithSame(name string) func(*testing.T, *Dir) {
	return func(t *testing.T, d *Dir) {
		b, err := os.ReadFile(d.file(name))
		must(t, err)
		must(t, os.WriteFile(d.file("new"), b, 0o600))
		must(t, os.Rename(d.file("new"), d.file(name)))
	}
}

// putBackTime is what an editor does that hides its trace: host-local's own
// files never have an older mtime.
func putBackTime(t *testing.T, d *Dir) {
	var st unix.Stat_t
	must(t, unix.Stat(d.file("10.0.0.2"), &st))
	must(t, os.WriteFile(d.file("10.0.0.2"), []byte("a\r\neth0"), 0o600))
	must(t, os.Chtimes(d.file("10.0.0.2"), time.Time{}, time.Unix(st.Mtim.Unix())))
}

func exchangeTwo(t *testing.T, d *Dir) {
	must(t, unix.Renameat2(unix.AT_FDCWD, d.file("10.0.0.2"), unix.AT_FDCWD, d.file("10.0.0.3"), unix.RENAME_EXCHANGE))
}

func moveFiles(t *testing.T, d *Dir) {
	old := d.path + ".old"
	must(t, os.Rename(d.path, old))
	must(t, os.Mkdir(d.path, 0o755))
	for name := range stampFiles() {
		must(t, os.Rename(filepath.Join(old, name), d.file(name)))
	}
}

func TestAStampStaysWith(t *testing.T) {
	for name, change := range map[string]func(*testing.T, *Dir){
		"nothing done": func(*testing.T, *Dir) {},
		"the files read": func(t *testing.T, d *Dir) {
			for name := range stampFiles() {
				_, err := os.ReadFile(d.file(name))
				must(t, err)
			}
		},
		"the lock taken": func(t *testing.T, d *Dir) {
			for _, write := range []bool{true, false} {
				must(t, d.Lock(write, time.Now().Add(time.Minute)))
				d.Unlock()
			}
		},
		"host-local's lock taken": func(t *testing.T, d *Dir) {
			fd := hostLocalsLock(t, d.file(lockName))
			must(t, unix.Flock(fd, unix.LOCK_EX))
		},
		"a cursor moved":       func(t *testing.T, d *Dir) { must(t, d.SetLast(lastOf(0, "10.0.0.9"))) },
		"a cursor made":        func(t *testing.T, d *Dir) { must(t, d.SetLast(lastOf(1, "fd00::9"))) },
		"a stranger's file":    func(t *testing.T, d *Dir) { writeFiles(t, d.path, files{"more.txt": "a\r\neth0", "notes.txt": "y"}) },
		"a subdirectory":       func(t *testing.T, d *Dir) { must(t, os.Mkdir(d.file("sub"), 0o755)) },
		"the directory's mode": func(t *testing.T, d *Dir) { must(t, os.Chmod(d.path, 0o700)) },
		"the directory moved to and fro": func(t *testing.T, d *Dir) {
			must(t, os.Rename(d.path, d.path+".away"))
			must(t, os.Rename(d.path+".away", d.path))
		},
		"nothing that could be done": func(t *testing.T, d *Dir) {
			if _, err := d.Apply(nil); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDir(t, stampFiles())
			before := look(t, d).Stamp()
			tick(t)
			change(t, d)
			if after := look(t, d).Stamp(); after != before {
				t.Errorf("it was %q, and is %q", before, after)
			}
		})
	}
}

// The place tells a wipe from single files that were removed.
func TestThePlaceChangesWithTheDirectoryOrItsLockAlone(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*testing.T, *Dir)
		changes bool
	}{
		"a reservation removed": {func(t *testing.T, d *Dir) { must(t, os.Remove(d.file("10.0.0.2"))) }, false},
		"every reservation removed": {func(t *testing.T, d *Dir) {
			must(t, os.Remove(d.file("10.0.0.2")))
			must(t, os.Remove(d.file("10.0.0.3")))
		}, false},
		"the lock removed":                {func(t *testing.T, d *Dir) { must(t, os.Remove(d.file(lockName))) }, true},
		"the lock replaced":               {replaceWithSame(lockName), true},
		"the directory made again":        {func(t *testing.T, d *Dir) { must(t, os.RemoveAll(d.path)); writeFiles(t, d.path, stampFiles()) }, true},
		"the directory replaced":          {moveFiles, true},
		"another directory, without lock": {func(t *testing.T, d *Dir) { must(t, os.RemoveAll(d.path)); must(t, os.Mkdir(d.path, 0o755)) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDir(t, stampFiles())
			before := look(t, d).Place
			tick(t)
			c.change(t, d)
			if after := look(t, d).Place; (after != before) != c.changes {
				t.Errorf("it was %q, and is %q", before, after)
			}
		})
	}
}
