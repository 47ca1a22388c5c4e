package npm_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/xfn-dev/xfn/internal/language/typescript/npm"
)

func TestPrune(t *testing.T) {
	data := tarball(t, manifest)
	server := serve(t, data)
	s := open(t, server, "")
	if u, err := npm.Used(t.Context(), s.Dir); err != nil || u != (npm.Usage{}) {
		t.Errorf("a missing folder: got %v, %v", u, err)
	}
	u, err := get(t, s, packageOf(data))
	if err != nil {
		t.Fatal(err)
	}
	used, err := npm.Used(t.Context(), s.Dir)
	if err != nil || used.Packages != 1 || used.Bytes == 0 {
		t.Errorf("got %v, %v", used, err)
	}
	past := time.Now().Add(-48 * time.Hour)
	if err := os.Chtimes(filepath.Dir(u.Dir), past, past); err != nil {
		t.Fatal(err)
	}
	if _, err := get(t, s, packageOf(data)); err != nil { // It marks the package as used.
		t.Fatal(err)
	}
	day := time.Now().Add(-24 * time.Hour)
	if got, err := npm.Prune(t.Context(), s.Dir, day, false); err != nil || got != (npm.Usage{}) {
		t.Errorf("a used package: got %v, %v", got, err)
	}
	if err := os.Chtimes(filepath.Dir(u.Dir), past, past); err != nil {
		t.Fatal(err)
	}
	for _, dry := range []bool{true, false} {
		got, err := npm.Prune(t.Context(), s.Dir, day, dry)
		if diff := cmp.Diff(used, got); err != nil || diff != "" {
			t.Errorf("dry %t: %v\n%s", dry, err, diff)
		}
	}
	if _, err := os.Stat(u.Dir); !os.IsNotExist(err) {
		t.Errorf("the package still exists: %v", err)
	}
}
