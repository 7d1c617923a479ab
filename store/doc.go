// Package store owns the checkpoint: one bbolt file in which every network of
// the node keeps its allocations, with the lock, the journal and the witness
// beside it. It knows nothing of CNI.
//
// # Files
//
//	<dataDir>/checkpoint.db             the checkpoint
//	<dataDir>/lock                      the lock; its content is the witness
//	<dataDir>/journal                   what this boot was told, a line per transaction
//	<dataDir>/undo                      what takes back a commit that failed; only after one
//	<dataDir>/suspect                   empty; only after a call that made no progress
//	<dataDir>/deferred/<name>           a DEL that could not be written; the name has its attachment
//	<dataDir>/checkpoint.db.damaged-*   one that was damaged and replaced
//	<dataDir>/checkpoint.db.replaced-*  one that was sound and replaced, by Restore or Repair
//	<dataDir>/journal.damaged-*         the journal of a damaged one, where it may tell of more
//	<dataDir>/.checkpoint.db.new        a checkpoint while it is written
//	<dataDir>/.journal.new              a journal while it is written
//
// Calls go by the first six. The kept files of damaged checkpoints are read by
// Repair alone, and no kept file is ever removed; * is the time in UTC.
//
// # Bucket tree, schema 1
//
//	meta/format                     JSON: schema, oldest schema that may write here, writer, created, id
//	meta/commit                     random, another in each transaction, and the CRC-32C of meta
//	meta/epochs                     boot id -> epoch number, 8 bytes big endian
//	meta/stamp/1                    id of the last transaction that maintained schema 1, 8 bytes big endian
//	meta/unnumbered                 <network>\0<address> of every record with epoch 0
//	meta/damage                     number -> CRC-32C, then JSON: Damage
//	meta/lost                       CRC-32C, then JSON: Loss, of all networks that are not stored
//	meta/accepted                   number of the epoch in which nothing counts as lost, 8 bytes big endian
//	networks/<network>/allocations  <address> -> record (see package record)
//	networks/<network>/attachments  <container id>\0<ifname>\0<address> -> nothing
//	networks/<network>/cursors      <range set> -> <address>, the last one given
//	networks/<network>/ranges       CRC-32C, then JSON: range sets of the last ADD
//	networks/<network>/migration    CRC-32C, then JSON: where the network's migration stands (package migrate)
//	networks/<network>/lost         CRC-32C, then JSON: Loss
//	networks/<network>/deferred     name of a file in deferred/ -> <inode>:<change time in ns> of the one that was carried out
//
// An address is 16 bytes, IPv4 mapped into IPv6, so that keys sort as
// addresses do.
//
// # Invariants
//
//   - Both indexes agree: an attachments key exists for each holder of each
//     allocation, and for nothing else. They change in one transaction.
//   - A network has both indexes or neither.
//   - The checksum in meta/commit is that of all in meta but itself and the stamps. A
//     file that another version has written last may have none.
//   - An address has one record, so it is never given twice.
//   - stamp/1 equals the id of the file's last transaction. Where it does not,
//     something that does not know schema 1 wrote here, and nothing is believed,
//     unless the witness has that number and the journal the same networks: then
//     a page of meta is an older one.
//   - Whoever opens the checkpoint holds the lock, readers too: shared holders
//     would starve a writer. Where there is no lock file nobody writes, and it is
//     read without.
//   - A commit is fsynced before it is answered. A failed sync is final.
//   - A call that may write neither answers from nor builds on a transaction that the
//     witness does not name: it first makes that durable, and tells journal and witness.
//   - The checkpoint is created whole: an empty or short file is damage, never new.
//   - Another checkpoint in its place has another id, and names the one before. The
//     one before is kept.
package store
