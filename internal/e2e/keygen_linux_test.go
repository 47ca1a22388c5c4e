package e2e_test

import (
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/xfn-dev/xfn/internal/e2e"
)

// Ctrl-C at the prompt for a password ends the program, and restores the terminal.
func TestKeygenInterrupted(t *testing.T) {
	t.Setenv("COSIGN_PASSWORD", "")
	os.Unsetenv("COSIGN_PASSWORD")
	p := &pseudo{t: t, dir: t.TempDir()}
	p.start("xpkg", "keygen")
	p.awaitOutput("password of the new key: ")
	for p.modes().Lflag&unix.ECHO != 0 {
		runtime.Gosched()
	}
	p.types("\x03")
	e2e.Error(t, "an interrupted program fails", p.cmd.Wait())
	if p.modes() != p.before {
		t.Error("the modes of the terminal have changed")
	}
	e2e.Empty(t, p.dir)
}
