package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/xfn-dev/xfn/internal/e2e"
)

// The kernel refuses to seal a memfd that is in use. Sealing is tried again.
func TestSealWhileBusy(t *testing.T) {
	fd := e2e.Must(unix.MemfdCreate("test", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING))(t)
	f := os.NewFile(uintptr(fd), "test")
	defer f.Close()
	e2e.NoError(t, e2e.Err(f.WriteString("program")))
	mapping, err := unix.Mmap(fd, 0, 4096, unix.PROT_WRITE, unix.MAP_SHARED)
	e2e.NoError(t, err)
	busy := 0
	err = whileBusy(func() error {
		err := addSeals(f)
		if errors.Is(err, unix.EBUSY) {
			busy++
			err = errors.Join(err, unix.Munmap(mapping))
		}
		return err
	})
	e2e.NoError(t, err)
	e2e.Equal(t, "sealing is tried again once the memfd is not in use", 1, busy)
	e2e.ErrorIs(t, "a sealed memfd cannot be written", e2e.Err(f.WriteString("x")), unix.EPERM)
}

// TestExecuteOnly checks which files of this program a supervisor executes itself, and not a
// copy.
func TestExecuteOnly(t *testing.T) {
	spec := Spec{HostID: DefaultHostID}
	for _, tc := range []struct {
		reason string
		owner  int
		mode   os.FileMode
		want   bool
	}{
		{"only the owner can write, and the owner is not a user of the sandbox", os.Geteuid(), 0o755, MapsIDs()},
		{"others can execute it without reading it", os.Geteuid(), 0o711, MapsIDs()},
		{"a group can write", os.Geteuid(), 0o775, false},
		{"everyone can write", os.Geteuid(), 0o757, false},
		{"the sandbox cannot execute it", os.Geteuid(), 0o750, false},
		{"the owner is the last user before the users of the sandbox", DefaultHostID - 1, 0o755, true},
		{"the owner is the first user of the sandbox", DefaultHostID, 0o755, false},
		{"the owner is the last user of the sandbox", DefaultHostID + idRange - 1, 0o755, false},
		{"the owner is the first user after the users of the sandbox", DefaultHostID + idRange, 0o755, true},
	} {
		if tc.owner != os.Geteuid() && !MapsIDs() {
			continue // only root can give a file away
		}
		path := filepath.Join(t.TempDir(), "program")
		e2e.NoError(t, os.WriteFile(path, nil, 0o600))
		e2e.NoError(t, os.Chown(path, tc.owner, -1))
		e2e.NoError(t, os.Chmod(path, tc.mode))
		info := e2e.Must(os.Stat(path))(t)
		e2e.Equal(t, tc.reason, tc.want, executeOnly(info, spec))
	}
}
