package main

import (
	"github.com/rogpeppe/go-internal/testscript"
	bolt "go.etcd.io/bbolt"
)

// newer is a command of the scripts: it makes a checkpoint one that only a
// version to come may write.
//
//	newer FILE
func newer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: newer FILE")
	}
	db, err := bolt.Open(ts.MkAbs(args[0]), 0o600, nil)
	ts.Check(err)
	err = db.Update(func(tx *bolt.Tx) error {
		return tx.Bucket([]byte("meta")).Put([]byte("format"),
			[]byte(`{"schema":9,"oldestWriter":9,"writer":"v9.0.0","created":"2030-01-01T00:00:00Z","id":"x"}`))
	})
	ts.Check(err)
	ts.Check(db.Close())
}
