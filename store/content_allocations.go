package store

import "github.com/bolt-local/bolt-local/store/record"

// putAllocation stores an allocation of the boot with bootID, in both indexes.
// Where that has no number the next runtime verb gives it one.
func (c *content) putAllocation(network string, a record.Allocation, bootID string) error {
	a.Epoch = 0
	if c.knowsBoot(bootID) {
		a.Epoch = c.newestEpoch()
	}
	value, err := record.Encode(network, a)
	if err != nil {
		return err
	}
	in := func(bucket string) []string { return []string{bucketNetworks, network, bucket} }
	c.put(in(bucketAllocations), string(addrKey(a.Addr)), value)
	for _, h := range a.Holders {
		c.put(in(bucketAttachments), string(attachmentKey(h.Attachment, a.Addr)), []byte{})
	}
	unnumbered, key := c.make(bucketMeta, bucketUnnumbered), string(unnumberedKey(network, a.Addr))
	delete(unnumbered.values, key)
	if a.Epoch == 0 {
		unnumbered.values[key] = []byte{}
	}
	return nil
}

// replaceAllocation is putAllocation over whatever the address had before.
func (c *content) replaceAllocation(network string, a record.Allocation, bootID string) error {
	path := []string{bucketNetworks, network, bucketAllocations}
	if value := c.get(path, string(addrKey(a.Addr))); value != nil {
		old, err := record.Decode(network, a.Addr, value)
		if err != nil {
			return err
		}
		attached := c.make(bucketNetworks, network, bucketAttachments)
		for _, h := range old.Holders {
			delete(attached.values, string(attachmentKey(h.Attachment, a.Addr)))
		}
	}
	return c.putAllocation(network, a, bootID)
}
