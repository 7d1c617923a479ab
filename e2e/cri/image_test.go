package cri

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/bolt-local/bolt-local/e2e/lab"
	"github.com/bolt-local/bolt-local/e2e/testenv"
)

// sandboxImage is what containerd starts each pod with. No registry is asked
// for it.
const sandboxImage = "bolt-local.test/pause:1"

// object is a JSON object.
type object = map[string]any

// writeImage writes the sandbox image as `docker save` would: one layer, with
// one program.
func writeImage(t *testing.T) (path string) {
	t.Helper()
	program, err := os.ReadFile(testenv.Binary(t, lab.Pause))
	if err != nil {
		t.Fatal(err)
	}
	layer := tarOf(t, file{"pause", 0o755, program})
	config := encode(t, object{
		"architecture": runtime.GOARCH,
		"os":           "linux",
		"config":       object{"Entrypoint": []string{"/pause"}, "WorkingDir": "/"},
		"rootfs":       object{"type": "layers", "diff_ids": []string{fmt.Sprintf("sha256:%x", sha256.Sum256(layer))}},
	})
	manifest := encode(t, []object{{
		"Config": "config.json", "RepoTags": []string{sandboxImage}, "Layers": []string{"layer.tar"},
	}})
	path = filepath.Join(t.TempDir(), "pause.tar")
	image := tarOf(t, file{"config.json", 0o644, config}, file{"layer.tar", 0o644, layer}, file{"manifest.json", 0o644, manifest})
	if err := os.WriteFile(path, image, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

type file struct {
	name string
	mode int64
	data []byte
}

func tarOf(t *testing.T, files ...file) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, f := range files {
		if err := w.WriteHeader(&tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.data))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(f.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
