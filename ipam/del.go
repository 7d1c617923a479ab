package ipam

import "github.com/bolt-local/bolt-local/store/record"

// Del frees what the attachment holds, of any epoch, whatever the
// configuration says now. Absent is success. In the chained role it does
// nothing: it runs before the main plugin's DEL and must never block that.
func (p *Plugin) Del(call Call) error {
	cfg := ParseLenient(call.Stdin)
	p.warnAll(cfg.Warnings)
	if cfg.Role == Chained {
		return nil
	}
	att := call.attachment()
	return p.Open(cfg).Update(VerbDel, cfg.Network, func(tx Tx) error {
		held, err := tx.HeldBy(att)
		if err != nil {
			return err
		}
		for _, a := range held {
			if err := release(tx, a, func(h record.Holder) bool { return h.Attachment == att }); err != nil {
				return err
			}
		}
		return nil
	})
}
