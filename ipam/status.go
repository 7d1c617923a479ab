package ipam

import (
	"github.com/bolt-local/bolt-local/store/record"
)

// Status tells whether an ADD could be served. It writes nothing. Its error is
// code 50 where an ADD must fail; a lock that is not had in time is no reason.
func (p *Plugin) Status(call Call) error {
	cfg, err := ParseConfig(call.Stdin, "")
	if err != nil {
		return err
	}
	cfg.LockTimeout = min(cfg.LockTimeout, ReadTimeout)
	state := p.Open(cfg)
	err = state.View(cfg.Network, func(r Reader) error { return p.exhausted(cfg, r) })
	if err == nil {
		err = state.Writable(cfg.Network)
	}
	if err == nil || CodeOf(err) == CodeTryAgain {
		return nil
	}
	return Errorf(CodeUnavailable, "%w", err)
}

// exhausted reports the first range set that has no address for an ADD. Free
// is also what an ADD could take back.
func (p *Plugin) exhausted(cfg *Config, r Reader) error {
	if cfg.StatusIgnoresExhaustion {
		return nil
	}
	sets := cfg.RangeSets
	if cfg.Role == Chained {
		var err error
		if sets, err = r.Ranges(); err != nil {
			return err
		}
	}
	for _, set := range sets {
		free, err := p.hasFree(r, sets, set)
		if err != nil {
			return err
		}
		if !free {
			held, err := countHeld(r, set)
			if err != nil {
				return err
			}
			return Errorf(CodeUnavailable, "no IP addresses available in range set: %s of network %s: %d held", set, cfg.Network, held)
		}
	}
	return nil
}

func (p *Plugin) hasFree(r Reader, sets []record.RangeSet, set record.RangeSet) (bool, error) {
	list := spans(set, gateways(sets))
	_, free, err := p.firstFree(r, list)
	if free || err != nil {
		return free, err
	}
	dead, err := p.deadIn(r, list)
	return len(dead) > 0, err
}
