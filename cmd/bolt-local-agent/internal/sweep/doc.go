// Package sweep takes back the allocations of pods that the container runtime
// does not know any more, for runtimes that never call CNI's GC.
//
// An allocation is freed when all of this holds:
//   - it carries a pod's uid or infra container id, recorded or in libcni's
//     cache, or is of a network that the operator has named, and then those alone
//     are looked at: so what podman or nerdctl have made is left alone;
//   - it is of this boot, and older than the grace period by CLOCK_BOOTTIME: an
//     ADD in flight is in no listing yet. One that was imported without its time,
//     or has that of an earlier boot, is as old as this process has known it;
//   - two listings that began after that, some time apart, do not have it;
//   - it was not changed in between;
//   - its network namespace is not alive, and was not recorded in another mount
//     namespace than this one: another runtime's pod may be in it.
//
// The lock of the state is never held while the runtime is asked.
package sweep
