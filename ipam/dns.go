package ipam

import (
	"bufio"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"

	"github.com/containernetworking/cni/pkg/types"
)

// maxResolvConf bounds the size of a resolver configuration, in bytes. Real
// ones have a few hundred.
const maxResolvConf = 1 << 20

var errNotRegular = errors.New("not a regular file")

// parseResolvConf reads a resolver configuration as host-local does: of
// resolv.conf(5) it knows nameserver, domain, search and options. Search and
// options lines add up; of several domain lines the last one counts. What it
// does not know is skipped. Errors are of [CodeIO] and name the file.
func parseResolvConf(path string) (types.DNS, error) {
	dns, err := readResolvConf(path)
	if err != nil {
		return types.DNS{}, Errorf(CodeIO, "ipam.resolvConf: %w", err)
	}
	return dns, nil
}

func readResolvConf(path string) (types.DNS, error) {
	// Without O_NONBLOCK the open of a FIFO waits until somebody writes to it.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return types.DNS{}, err
	}
	defer f.Close()
	if err := checkResolvConf(f); err != nil {
		return types.DNS{}, err
	}

	var dns types.DNS
	lines := bufio.NewScanner(io.LimitReader(f, maxResolvConf))
	lines.Buffer(nil, maxResolvConf+1)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";") {
			continue
		}
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		switch words[0] {
		case "nameserver":
			dns.Nameservers = append(dns.Nameservers, words[1])
		case "domain":
			dns.Domain = words[1]
		case "search":
			dns.Search = append(dns.Search, words[1:]...)
		case "options":
			dns.Options = append(dns.Options, words[1:]...)
		}
	}
	return dns, lines.Err()
}

// checkResolvConf refuses what cannot be a resolver configuration and might
// never come to an end.
func checkResolvConf(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return &os.PathError{Op: "read", Path: f.Name(), Err: errNotRegular}
	}
	if info.Size() > maxResolvConf {
		return &os.PathError{Op: "read", Path: f.Name(), Err: syscall.EFBIG}
	}
	return nil
}
