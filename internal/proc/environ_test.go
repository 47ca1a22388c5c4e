package proc_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/proc"
)

func TestGet(t *testing.T) {
	env := []string{"A=1", "B=x=y", "A=2", "C", "D="}
	for key, want := range map[string]string{"A": "2", "B": "x=y", "C": "", "D": "", "E": ""} {
		e2e.Equal(t, "the last value counts for "+key, want, proc.Getenv(env, key))
	}
	if got := proc.Getenv([]string{"Path=p"}, "PATH"); (got == "p") != (runtime.GOOS == "windows") {
		t.Errorf("another spelling gives %q", got)
	}
}

func TestLookPath(t *testing.T) {
	empty, full := t.TempDir(), t.TempDir()
	program := "xfn-test-program"
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	e2e.NoError(t, os.WriteFile(filepath.Join(full, program), nil, 0o700))
	list := func(dirs ...string) []string {
		return []string{"PATH=" + strings.Join(dirs, string(filepath.ListSeparator))}
	}
	e2e.Equal(t, "the program is found in the second folder of PATH", filepath.Join(full, program), e2e.Must(proc.LookPath("xfn-test-program", list(empty, full)))(t))
	t.Chdir(full)
	for reason, env := range map[string][]string{
		"a folder without the program is skipped": list(empty),
		"without PATH no program is found":        nil,
		"the working directory is not searched":   list(".", ""),
	} {
		if got, err := proc.LookPath("xfn-test-program", env); err == nil {
			t.Errorf("%s: got %q", reason, got)
		}
	}
}
