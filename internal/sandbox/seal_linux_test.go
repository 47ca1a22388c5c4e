package sandbox

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/xfn-dev/xfn/internal/e2e"
)

// The kernel refuses to seal a memfd that is in use. Sealing is tried again.
func TestSealWhileBusy(t *testing.T) {
	fd, err := unix.MemfdCreate("test", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	e2e.NoError(t, err)
	f := os.NewFile(uintptr(fd), "test")
	defer f.Close()
	if _, err := f.WriteString("program"); err != nil {
		t.Fatal(err)
	}
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
	if err != nil || busy != 1 {
		t.Errorf("got %v after %d refusals, want none after 1", err, busy)
	}
	if _, err := f.WriteString("x"); !errors.Is(err, unix.EPERM) {
		t.Errorf("writing to the sealed memfd: got %v, want EPERM", err)
	}
}
