package ipam

import (
	"errors"
	"fmt"
	"strings"

	"github.com/containernetworking/cni/pkg/types"
)

// Codes of the CNI specification, section "Error", as far as bolt-local uses
// them. What a runtime does with them: 11 is worth another try, 50 from STATUS
// makes containerd and CRI-O report the node as not ready. 1, a cniVersion that is
// not supported, is skel's.
const (
	CodeEnvironment = types.ErrInvalidEnvironmentVariables // 4: CNI_ARGS or another variable is wrong
	CodeIO          = types.ErrIOFailure                   // 5: a file cannot be read or written
	CodeDecode      = types.ErrDecodingFailure             // 6: not JSON, or a field of another JSON type
	CodeConfig      = types.ErrInvalidNetworkConfig        // 7: a value of the configuration is wrong
	CodeNetNS       = types.ErrInvalidNetNS                // 8: CNI_NETNS is the plugin's own namespace
	CodeTryAgain    = types.ErrTryAgainLater               // 11: no free address, or the locks are not to be had
	CodeUnavailable = types.ErrPluginNotAvailable          // 50: STATUS, no ADD can succeed
)

// Codes of bolt-local that answer a request: the checkpoint is sound, the
// request cannot be met.
const (
	// CodeNothingAllocated is CHECK's for an attachment that holds no address.
	CodeNothingAllocated uint = 100
	// CodeCheckMismatch is CHECK's for a prevResult that differs from what is
	// recorded.
	CodeCheckMismatch uint = 101
	// CodeRequestedTaken is ADD's for a requested address that another
	// attachment holds; the text names it.
	CodeRequestedTaken uint = 102
	// CodeRequestedUnusable is ADD's for a requested address that nobody can be
	// given: outside all ranges, a gateway, excluded, or one more than the range
	// sets have room for.
	CodeRequestedUnusable uint = 103
	// CodeHoldsAnother is ADD's for an attachment that holds an address already,
	// and not the one that is asked for.
	CodeHoldsAnother uint = 104
	// CodeCallerGone is ADD's when the process that started it has died: its DEL
	// may have been here before.
	CodeCallerGone uint = 105
)

// Codes of bolt-local that tell of the stored state.
const (
	// CodeDamaged is for a checkpoint that failed its checks; the text names the
	// file and what to do.
	CodeDamaged uint = 110
	// CodeForeignFormat is for a checkpoint that only a newer bolt-local may
	// write.
	CodeForeignFormat uint = 111
)

// ErrExhausted is under the error of an ADD, or of STATUS, where a range set has
// no address to give.
var ErrExhausted = errors.New("no IP addresses available in range set")

// Error is a failure with the code that the runtime is told. What it wraps can
// be asked for with [errors.Is] and [errors.As].
type Error struct {
	Code uint
	err  error
}

// Errorf returns an [*Error]. The format is that of [fmt.Errorf], %w included.
func Errorf(code uint, format string, args ...any) error {
	return &Error{Code: code, err: fmt.Errorf(format, args...)}
}

// Error is the text as the runtime gets it. It never says "not found": go-cni
// takes a DEL that fails with these words for one that has succeeded, and they
// could come in with a path or with the text of a wrapped error.
func (e *Error) Error() string {
	return strings.ReplaceAll(e.err.Error(), "not found", "missing")
}

// Unwrap returns the error under the code.
func (e *Error) Unwrap() error { return e.err }

// As makes skel see a [*types.Error], which it prints as it is.
func (e *Error) As(target any) bool {
	t, ok := target.(**types.Error)
	if ok {
		*t = types.NewError(e.Code, e.Error(), "")
	}
	return ok
}

// CodeOf returns the CNI code of err: 999, internal error, where it carries
// none.
func CodeOf(err error) uint {
	var e *types.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return types.ErrInternal
}
