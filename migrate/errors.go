package migrate

import (
	"errors"
	"strings"

	"github.com/containernetworking/cni/pkg/types"
	"golang.org/x/sys/unix"

	"github.com/bolt-local/bolt-local/ipam"
	"github.com/bolt-local/bolt-local/migrate/engine"
	"github.com/bolt-local/bolt-local/store"
)

// cniError gives the errors of the store and the engine their CNI codes. All
// others that have one pass unchanged.
func (s State) cniError(err error) error {
	var known *types.Error
	switch {
	case err == nil:
		return nil
	case (errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT)) && !errors.Is(err, store.ErrNoSpace):
		return ipam.Errorf(ipam.CodeIO, "%w: %w: free disk space", ipam.ErrNoSpace, err)
	case errors.As(err, &known) && known.Code != types.ErrInternal:
		return err
	case errors.Is(err, store.ErrLocked), errors.Is(err, store.ErrMoved):
		return ipam.Errorf(ipam.CodeTryAgain, "%w", err)
	case errors.Is(err, store.ErrNotRegular) && !strings.HasSuffix(err.Error(), "remove it"):
		return ipam.Errorf(ipam.CodeDamaged, "%w: remove it", err)
	case errors.Is(err, store.ErrNotRegular):
		return ipam.Errorf(ipam.CodeDamaged, "%w", err)
	case errors.Is(err, store.ErrDamaged):
		return ipam.Errorf(ipam.CodeDamaged, "%w; nothing was changed: run `%s`", err, s.repair())
	case errors.Is(err, store.ErrLost):
		return ipam.Errorf(ipam.CodeDamaged, "%w; run `%s` to see what is left, then `%s`, or reboot the node", err, s.repair(), s.repair("--accept"))
	case errors.Is(err, store.ErrNoCheckpoint), errors.Is(err, store.ErrBackup) && !errors.Is(err, store.ErrFormat):
		return ipam.Errorf(ipam.CodeIO, "%w", err)
	case errors.Is(err, store.ErrFormat), errors.Is(err, engine.ErrPhase):
		return ipam.Errorf(ipam.CodeForeignFormat, "%w", err)
	case errors.Is(err, store.ErrNoSpace):
		return ipam.Errorf(ipam.CodeIO, "%w: %w", ipam.ErrNoSpace, err)
	}
	return ipam.Errorf(ipam.CodeIO, "%w", err)
}
