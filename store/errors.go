package store

import (
	"errors"

	"github.com/bolt-local/bolt-local/store/filelock"
)

// What can be wrong with the files. The errors that callers see wrap these and
// name the file and what to do.
var (
	// ErrDamaged: the bytes are not those of a checkpoint that this package
	// wrote last: torn, truncated, replaced by an older copy, lost, or written
	// by another program.
	ErrDamaged = errors.New("the checkpoint is damaged")

	// ErrNotRegular: a link, a pipe, a device or a directory stands in the place of
	// one of our files.
	ErrNotRegular = errors.New("not a regular file")

	// ErrLost: a damaged checkpoint had allocations of this boot that are missing
	// now. See Loss.
	ErrLost = errors.New("allocations were lost with a damaged checkpoint")

	// ErrFormat: the checkpoint is of a schema that this version must not
	// write, or its format is not readable.
	ErrFormat = errors.New("the checkpoint's format is not one this version may write")

	// ErrLocked: the locks were not had in time.
	ErrLocked = filelock.ErrLocked

	// ErrMoved: the data directory was moved or removed while a call worked on it.
	ErrMoved = errors.New("the data directory is another one than at the start of this call")

	// ErrNoSpace: the disk is full.
	ErrNoSpace = errors.New("no space left for the checkpoint")

	// ErrStuck: a call made no progress. The disk is slow, or the checkpoint is
	// damaged in a way that was not noticed before.
	ErrStuck = errors.New("reading the checkpoint does not come to an end")

	// ErrBackup: a file that was to be restored is not a backup of ours, or not
	// whole.
	ErrBackup = errors.New("the backup cannot be used")

	// ErrNoCheckpoint: there is none, and none was lost in this boot.
	ErrNoCheckpoint = errors.New("there is no checkpoint")

	// ErrReadOnly: a write was asked for where only reading is possible.
	ErrReadOnly = errors.New("the checkpoint cannot be written")
)
