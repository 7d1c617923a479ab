// Package faults lets the system calls of bolt-local fail that touch files, one
// in each run: any of them, in any way in which a disk, a quota, a permission or
// a signal lets it fail. It needs no root, but ptrace(2) on amd64.
//
// A run makes the state that a call comes upon, makes the call with the fault,
// looks at the answer and at what is on the disk, carries on as a runtime would,
// makes the call again, and looks again. What it asks for:
//
//   - The answer is a CNI result or a CNI error with a code, and a text that says
//     why and names a file. There is no trace and no hang.
//   - The checkpoint opens. What was answered with success is there, or is freed.
//   - After the next call, what was answered with an error holds nothing, and
//     `migrate verify` holds. No address is given twice.
//   - The call made again succeeds, and ends in the state that it is for.
//   - Nothing is synced again after a sync that failed, for the kernel then calls
//     lost data synced.
package faults

import (
	"testing"

	"github.com/bolt-local/bolt-local/e2e/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }
