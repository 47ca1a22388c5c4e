package resolve_test

import (
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/language/python/resolve"
)

// FuzzLock parses foreign lock files, and chooses wheels from valid ones.
func FuzzLock(f *testing.F) {
	for _, text := range []string{uvLock, pylock, pinned, grouped, conflicts, ";", "@"} {
		f.Add(strings.ReplaceAll(text, "SUM", sum))
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, file := range []string{"uv.lock", "pylock.toml", "requirements.txt"} {
			if lock, err := parse(file, text); err == nil {
				_ = lock.Directories()
				_, _ = lock.Choose("pyproject.toml", requirements(t, "click"), debian)
			}
		}
	})
}

// FuzzNames parses foreign versions, specifiers, requirements, markers and names of wheels.
func FuzzNames(f *testing.F) {
	for _, text := range []string{"1.0", ">=1.0,<2", "a[b]>=1; os_name == 'posix'", "python_version in '3.12'", "a-1.0-1-py2.py3-none-any.whl", "a @ file:.."} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if v, err := resolve.ParseVersion(text); err == nil && v.Compare(v) != 0 {
			t.Errorf("version %q differs from itself", text)
		}
		if s, err := resolve.ParseSpecifiers(text); err == nil {
			s.Match(debian.Full())
		}
		if m, err := resolve.ParseMarker(text); err == nil {
			m.Match(debian.Environment())
		}
		if r, err := resolve.ParseRequirement(text); err == nil && r.Name == "" {
			t.Errorf("requirement %q has no name", text)
		}
		if w, err := resolve.ParseWheelName(text); err == nil {
			debian.Supports(w.Tags)
		}
	})
}
