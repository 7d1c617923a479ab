// Package trace runs a process under ptrace(2), records its system calls that
// touch files, and lets chosen ones fail. It needs no strace(1).
//
// All threads of the process are followed, and processes that it starts. A
// seccomp(2) filter stops them at system calls of files alone, so that a traced
// process is about as fast as another. Linux on amd64 from 4.8 on; elsewhere Run
// returns an error that wraps ErrUnavailable.
package trace
