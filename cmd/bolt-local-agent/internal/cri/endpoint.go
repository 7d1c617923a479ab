package cri

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/bolt-local/bolt-local/cmd/bolt-local-agent/internal/smallfile"
)

// Where crictl looks, and what it is told by (cri-tools, docs/crictl.md).
const (
	endpointVar = "CONTAINER_RUNTIME_ENDPOINT"
	crictlFile  = "/etc/crictl.yaml"
)

// sockets are those of containerd and CRI-O, in crictl's order.
var sockets = []string{"/run/containerd/containerd.sock", "/run/crio/crio.sock"}

// Endpoint returns the runtime's socket as a URL: given, where that is not
// empty; else as crictl finds it, by CONTAINER_RUNTIME_ENDPOINT, then
// /etc/crictl.yaml, then the sockets of containerd and CRI-O. The error wraps
// ErrNoRuntime where there is none.
func Endpoint(given string) (string, error) { return endpoint(given, os.Getenv, crictlFile, sockets) }

func endpoint(given string, getenv func(string) string, file string, sockets []string) (string, error) {
	if given == "" {
		given = getenv(endpointVar)
	}
	if given == "" {
		configured, err := configuredEndpoint(file)
		if err != nil {
			return "", err
		}
		given = configured
	}
	if given != "" {
		return parseEndpoint(given)
	}
	for _, path := range sockets {
		if info, err := os.Stat(path); err == nil && info.Mode()&fs.ModeSocket != 0 {
			return "unix://" + path, nil
		}
	}
	return "", fmt.Errorf("%w: there is no socket at %s; name it with --runtime-endpoint unix:///path", ErrNoRuntime, strings.Join(sockets, " or "))
}

func configuredEndpoint(file string) (string, error) {
	b, err := smallfile.Read(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	var config struct {
		Endpoint string `json:"runtime-endpoint"`
	}
	if err == nil {
		err = yaml.Unmarshal(b, &config)
	}
	if err != nil {
		return "", fmt.Errorf("crictl's configuration %s: %w; mend it, or name the socket with --runtime-endpoint unix:///path", file, err)
	}
	return config.Endpoint, nil
}

// parseEndpoint takes a path for a URL, as crictl does.
func parseEndpoint(text string) (string, error) {
	if strings.HasPrefix(text, "/") {
		return "unix://" + text, nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "unix" || u.Host != "" || u.Path == "" {
		return "", fmt.Errorf("the runtime endpoint %q is not a socket such as unix:///run/containerd/containerd.sock", text)
	}
	return "unix://" + u.Path, nil
}
