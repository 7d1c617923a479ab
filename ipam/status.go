package ipam

// Status tells whether an ADD could be served. It writes nothing. Its error is
// code 50 where an ADD must fail; a lock that is not had in time is no reason.
func (p *Plugin) Status(call Call) error {
	cfg, err := parseForStatus(call.Stdin)
	if err != nil {
		return err
	}
	cfg.LockTimeout = min(cfg.LockTimeout, ReadTimeout)
	state := p.Open(cfg)
	err = state.Ready(cfg.Network, func(r Reader) error { return p.checkFree(cfg, r) })
	if err == nil || CodeOf(err) == CodeTryAgain {
		return nil
	}
	return Errorf(CodeUnavailable, "%w", err)
}

// checkFree reports the first range set that has no address for an ADD. Free is
// also what an ADD could take back. The chained role has no range sets: those of the
// last ADD may not be today's, and while STATUS fails no ADD comes that stores
// others. The main plugin's STATUS tells of today's.
func (p *Plugin) checkFree(cfg *Config, r Reader) error {
	if cfg.StatusIgnoresExhaustion {
		return nil
	}
	for _, from := range pools(cfg.RangeSets) {
		_, free, err := p.firstFree(r, from.list)
		if err != nil {
			return err
		}
		if free {
			continue
		}
		dead, err := p.deadIn(r, from)
		if err != nil {
			return err
		}
		if len(dead) == 0 {
			return p.exhausted(CodeUnavailable, r, cfg, from)
		}
	}
	return nil
}
