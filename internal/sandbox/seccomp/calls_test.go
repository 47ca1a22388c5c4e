//go:build linux

package seccomp

import (
	"strings"
	"testing"

	"github.com/elastic/go-seccomp-bpf/arch"
)

// A name that no architecture has is a mistake: it would be left out silently.
func TestNamesAreKnown(t *testing.T) {
	seen := map[string]bool{}
	for _, name := range allowed() {
		_, amd64 := arch.X86_64.SyscallNames[name]
		_, arm64 := arch.AARCH64.SyscallNames[name]
		if !amd64 && !arm64 {
			t.Errorf("%q is a call of no architecture", name)
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
			t.Errorf("%q, with conditions, is not a call of every architecture", r.call)
		}
		if seen[r.call] {
			t.Errorf("%q is allowed without conditions, too", r.call)
		}
	}
	for _, r := range unusual() {
		if len(strings.Fields(r.calls)) == 0 || r.why == "" {
			t.Errorf("%+v: a reason is for calls, and calls need one", r)
		}
	}
}
