//go:build linux

package seccomp

import (
	"strings"
	"testing"

	"github.com/elastic/go-seccomp-bpf/arch"
)

// TestNamesAreKnown checks that every system call name in the filters exists on some
// architecture. The filters would ignore an unknown name.
func TestNamesAreKnown(t *testing.T) {
	seen := map[string]bool{}
	for _, name := range allowed() {
		_, amd64 := arch.X86_64.SyscallNames[name]
		_, arm64 := arch.AARCH64.SyscallNames[name]
		if !amd64 && !arm64 {
			t.Errorf("no architecture has a call %q", name)
		}
		if seen[name] {
			t.Errorf("%q is listed twice", name)
		}
		seen[name] = true
	}
	for _, r := range conditional() {
		_, amd64 := arch.X86_64.SyscallNames[r.call]
		_, arm64 := arch.AARCH64.SyscallNames[r.call]
		if !amd64 || !arm64 {
			t.Errorf("%q has conditions, but not every architecture has this call", r.call)
		}
		if seen[r.call] {
			t.Errorf("%q is also allowed without conditions", r.call)
		}
	}
	for _, r := range unusual() {
		if len(strings.Fields(r.calls)) == 0 || r.why == "" {
			t.Errorf("%+v: a reason needs calls, and a text", r)
		}
	}
}
