package e2e_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/xfn-dev/xfn/internal/e2e"
)

// generates reports whether the case is about the files that a command writes, and not about
// packages.
func (c *projectCase) generates() bool {
	kind, _, _ := strings.Cut(filepath.Base(c.dir), "-")
	return slices.Contains([]string{"init", "generate", "dep"}, kind)
}

// compareGenerated compares all files: their names, modes and links, the bytes of schemas and
// of files with one possible content, and the values of YAML files of the user.
func (c *projectCase) compareGenerated(t *testing.T, before map[string]string, created map[string]any) {
	t.Helper()
	want := maps.Clone(created)
	err := filepath.WalkDir(c.work, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == c.work {
			return err
		}
		rel, err := filepath.Rel(c.work, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		file, ok := created[rel].(map[string]any)
		delete(want, rel)
		if before[path] == "" && !ok {
			t.Errorf("%s is a new file that the crossplane CLI does not write", rel)
		}
		if ok && !d.IsDir() {
			c.compareFile(t, path, rel, file)
		}
		return nil
	})
	e2e.NoError(t, err)
	if len(want) > 0 {
		t.Errorf("these files are missing: %q", slices.Sorted(maps.Keys(want)))
	}
}

// compareFile compares one file with its entry in created.json.
func (c *projectCase) compareFile(t *testing.T, path, rel string, want map[string]any) {
	t.Helper()
	info := e2e.Must(os.Lstat(path))(t)
	if target, ok := want["link"]; ok {
		if got, err := os.Readlink(path); err != nil || got != target {
			t.Errorf("%s links to %q, want %q: %v", rel, got, target, err)
		}
		return
	}
	if got := fmt.Sprintf("%04o", info.Mode().Perm()); got != want["mode"] {
		t.Errorf("%s has mode %s, want %s", rel, got, want["mode"])
	}
	text := e2e.ReadFile(t, path)
	if golden := filepath.Join(c.dir, "out", rel); fileExists(golden) {
		c.compareText(t, rel, c.ports.Replace(e2e.ReadFile(t, golden)), text)
		return
	}
	switch base := filepath.Base(rel); {
	case strings.Contains(rel, "json/"), base == "kcl.mod", base == "kcl.mod.lock", base == "__version__.py", base == "__init__.py", base == ".gitkeep":
		sum := sha256.Sum256([]byte(text))
		if got := hex.EncodeToString(sum[:]); got != want["sha256"] {
			t.Errorf("%s has the SHA-256 hash %s, want %s:\n%s", rel, got, want["sha256"], text)
		}
	}
}

// compareText compares a file with the file of the crossplane CLI. YAML of the user keeps
// its comments and its layout, so only the values are equal. An operation keeps the fields
// that the CLI damages.
func (c *projectCase) compareText(t *testing.T, rel, want, got string) {
	t.Helper()
	if filepath.Base(rel) == ".lock.json" {
		// The digests of the packages depend on their compression.
		want, got = anyHash.ReplaceAllString(want, "HASH"), anyHash.ReplaceAllString(got, "HASH")
	}
	if !strings.HasSuffix(rel, ".yaml") || strings.HasPrefix(filepath.Base(c.dir), "init-") {
		e2e.Equal(t, rel+" is the file of the crossplane CLI", want, got)
		return
	}
	var values [2]map[string]any
	for i, text := range []string{want, got} {
		e2e.NoError(t, yaml.Unmarshal([]byte(text), &values[i]))
	}
	if values[0]["kind"] == "Operation" {
		spec := values[0]["spec"].(map[string]any)
		delete(spec, "compositeTypeRef")
		spec["retryLimit"] = 3.0
	}
	e2e.Equal(t, rel+" has the values of the crossplane CLI", values[0], values[1])
	for line := range strings.Lines(c.input(t, rel)) {
		if comment := strings.Index(line, "#"); comment >= 0 && !strings.Contains(got, strings.TrimSpace(line[comment:])) {
			t.Errorf("%s has lost the comment %q", rel, line)
		}
	}
}

var anyHash = regexp.MustCompile(`(sha256:)?[0-9a-f]{40,64}"`)

// input returns a file of the case's input, or "".
func (c *projectCase) input(t *testing.T, rel string) string {
	t.Helper()
	return optional(t, filepath.Join(c.dir, "in", rel))
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
