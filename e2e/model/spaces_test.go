package model

import "github.com/bolt-local/bolt-local/store/record"

// spaces are the living namespaces: path to inode.
type spaces map[string]uint64

func (s spaces) path(id string) string { return "/ns/" + id }

// of is the namespace of a container, without an inode where it is gone.
func (s spaces) of(id string) record.NetNS { return s.Identify(s.path(id)) }

func (s spaces) Identify(path string) record.NetNS {
	return record.NetNS{Path: path, Inode: s[path], MountNS: 1}
}
func (s spaces) IsOwn(record.NetNS) bool     { return false }
func (s spaces) Alive(ns record.NetNS) bool  { return ns.Inode != 0 && s[ns.Path] == ns.Inode }
func (s spaces) Dead(ns record.NetNS) bool   { return ns.Inode != 0 && s[ns.Path] != ns.Inode }
func (s spaces) Elsewhere(record.NetNS) bool { return false }
func (s spaces) Unsure() error               { return nil }
