// Package disk models what a disk may hold after a power cut, given the calls
// that a process has made before it.
//
// # Rules
//
// The kernel shows every call at once; the disk has what was synced, and some
// of the rest:
//
//   - A file's bytes and size are durable after fsync(2) or fdatasync(2) of it,
//     and not before. A synced directory says nothing of them: a new file that
//     was renamed but not synced may be empty.
//   - A name is durable after fsync(2) of its directory. Without it the changes
//     of one directory persist in their order, any first part of them:
//     journaling file systems write metadata in order. Two directories know
//     nothing of each other. ext4 and xfs make more durable than that (a sync
//     of anything writes the whole log); those outcomes are among ours.
//   - The sizes that one file had persist in their order, too: they are
//     metadata. A write that makes a file longer may leave its size without its
//     bytes, which are then zeros or, on ext4 with data=writeback, whatever was
//     on the disk before.
//   - Of the writes since the last sync each may be there or not, in any
//     combination. One that is longer than a sector may be torn between
//     sectors; one within a sector is there or not.
//   - Modes are what they were set to last. They are not what is tested here.
//
// The rules are those of fsync(2), of the ext4 manual (data=ordered and
// data=writeback), and of "All File Systems Are Not Created Equal" (Pillai and
// others, OSDI 2014), whose table of what real file systems reorder they cover
// for the calls that bolt-local makes: everything but a rename between
// directories, which is an error here.
package disk
