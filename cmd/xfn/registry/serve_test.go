package registry_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/cmd/xfn/registry"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	store "github.com/xfn-dev/xfn/internal/registry"
)

// An address that is taken is found out before the directory is touched.
func TestAddressTaken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	dir := filepath.Join(t.TempDir(), "registry")
	c := registry.ServeCmd{Dir: dir, Address: l.Addr().String()}
	if err := c.Run(t.Context(), &terminal.Terminal{}); err == nil || !strings.Contains(err.Error(), c.Address) {
		t.Errorf("got %v, want an error that names %s", err, c.Address)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the directory was made (%v)", err)
	}
}

// A directory that another registry uses is refused before an address is
// printed.
func TestDirTaken(t *testing.T) {
	dir := t.TempDir()
	first, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = first.Close() }()
	var out strings.Builder
	c := registry.ServeCmd{Dir: dir, Address: "127.0.0.1:0"}
	if err := c.Run(t.Context(), &terminal.Terminal{Stdout: &out}); err == nil || !strings.Contains(err.Error(), "another registry uses it") {
		t.Errorf("got %v, want a refusal", err)
	}
	if out.Len() > 0 {
		t.Errorf("it printed %q", &out)
	}
}
