// Package hostlocal is form 0: the directory in which host-local keeps the
// reservations of one network.
//
//	<parent>/<network>/<address>            "<container id>\r\n<ifname>"; of old versions the id alone
//	<parent>/<network>/last_reserved_ip.<n> the last address given from range set n
//	<parent>/<network>/lock                 locked with flock(2) by whoever reads or writes
//	<parent>/.bolt-local-<network>          ours: what is swapped with the directory
//
// host-local never syncs; this package syncs what it writes before it returns.
// It reads CRLF, LF and id-only files, and writes host-local's exact bytes. A
// reservation comes whole: host-local never sees it empty or half written, and
// never sees a file of another kind in its directory.
//
// Shut, a regular file stands in the place of the directory: the tombstone, on
// which host-local fails in every verb. Directory and tombstone are swapped in
// one step.
//
// Nothing outside the directory and the one name beside it is written.
package hostlocal
