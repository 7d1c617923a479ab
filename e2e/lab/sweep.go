package lab

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// maker names this process in the names of its namespaces: by its process id,
// so that others can tell when it is gone. In a pid namespace of its own, the
// id would mean another process to them.
var maker = sync.OnceValue(func() string {
	if inFirstPIDNamespace() {
		return strconv.Itoa(os.Getpid())
	}
	return fmt.Sprintf("x%06x", rand.N(1<<24))
})

// inFirstPIDNamespace reports whether process ids here are those of the
// machine. The kernel gives that namespace a fixed inode (PROC_PID_INIT_INO).
func inFirstPIDNamespace() bool {
	link, err := os.Readlink("/proc/self/ns/pid")
	return err == nil && link == "pid:[4026531836]"
}

// Sweep deletes namespaces of makers that are gone: a killed test cannot
// clean up after itself. It returns the names.
func Sweep() ([]string, error) {
	if !inFirstPIDNamespace() {
		return nil, nil
	}
	entries, err := os.ReadDir(runNetns)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var swept []string
	var errs []error
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), Prefix)
		if !ok {
			continue
		}
		field, _, _ := strings.Cut(rest, "-")
		pid, err := strconv.Atoi(field)
		if err != nil || !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			continue
		}
		if _, err := ip("netns", "delete", e.Name()); err != nil {
			errs = append(errs, err)
			continue
		}
		swept = append(swept, e.Name())
	}
	return swept, errors.Join(errs...)
}
