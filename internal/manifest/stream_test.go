package manifest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/manifest"
)

// streamed returns "path:line text" for each document, or "! " and the error.
func streamed(ctx context.Context, r manifest.Reader, path string) []string {
	var all []string
	for doc, err := range r.Stream(ctx, path) {
		if err != nil {
			all = append(all, "! "+err.Error())
			continue
		}
		all = append(all, doc.Position()+" "+strings.TrimSpace(string(doc.Text)))
	}
	return all
}

func TestStream(t *testing.T) {
	files := map[string]string{
		"d/b.yaml":     "a: 1\n---\nb: 2\n",
		"d/a.yml":      "# nothing\n",
		"d/sub/c.yaml": "c: 3\n",
		"d/e.json":     "{}",
		"d/f.txt":      "f: 1",
		"bad.yaml":     "a: 1\n--- b\nc: 1\n---\nd: 1\n",
		"long.yaml":    "--- #" + strings.Repeat(" x", 100_000) + "\na: 1\n",
	}
	fsys := e2e.Memory(t, files)
	cases := map[string]struct {
		reason, path string
		want         []string
	}{
		"Folder":    {"only YAML files are read, by name, including those in sub-folders", "d", []string{"d/b.yaml:1 a: 1", "d/b.yaml:3 b: 2", "d/sub/c.yaml:1 c: 3"}},
		"File":      {"a named file may have any extension", "d/f.txt", []string{"d/f.txt:1 f: 1"}},
		"Stdin":     {"the path - is called standard input", "-", []string{"standard input:1 s: 1"}},
		"Separator": {"an error is yielded in place of its document, before the next documents", "bad.yaml", []string{"bad.yaml:1 a: 1", `! bad.yaml:2: a document separator is followed by "b" on its line`, "bad.yaml:3 c: 1", "bad.yaml:5 d: 1"}},
		"Long":      {"a long comment after a separator is not content", "long.yaml", []string{"long.yaml:2 a: 1"}},
		"Missing":   {"a missing path is reported once", "none", []string{`! reading "none": file does not exist`}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := manifest.Reader{FS: fsys, Stdin: strings.NewReader("s: 1\n")}
			e2e.Equal(t, tc.reason, tc.want, streamed(t.Context(), r, tc.path))
		})
	}
}

// TestStreamLink reads a file in a folder by a link, as in a mounted ConfigMap.
func TestStreamLink(t *testing.T) {
	dir := t.TempDir()
	e2e.WriteFile(t, filepath.Join(dir, "data"), "a: 1\n")
	e2e.NoError(t, os.Symlink("data", filepath.Join(dir, "l.yaml")))
	want := []string{filepath.Join(dir, "l.yaml") + ":1 a: 1"}
	e2e.Equal(t, "a link in a folder is read under its own name", want, streamed(t.Context(), manifest.Reader{FS: afero.NewOsFs()}, dir))
}

// TestStreamGiven checks that Documents is called before a file is read.
func TestStreamGiven(t *testing.T) {
	given := []manifest.Document{{Path: "here", Line: 3, Text: []byte("a: 1")}, {Path: "here", Line: 5, Text: []byte("b: 1")}}
	r := manifest.Reader{Documents: func(path string) ([]manifest.Document, bool) { return given, path == "here" }}
	e2e.Equal(t, "the documents that Documents returns are read", []string{"here:3 a: 1", "here:5 b: 1"}, streamed(t.Context(), r, "here"))
}

func TestStreamStops(t *testing.T) {
	fsys := afero.NewMemMapFs()
	for _, name := range []string{"d/a.yaml", "d/b.yaml"} {
		e2e.NoError(t, afero.WriteFile(fsys, name, []byte("a: 1\n---\nb: 1\n"), 0o600))
	}
	n := 0
	for range (manifest.Reader{FS: fsys}).Stream(t.Context(), "d") {
		if n++; n == 3 {
			break
		}
	}
	e2e.Equal(t, "the loop ends with the break", 3, n)
}

// TestStreamLarge checks that documents have a size limit, but files have none.
func TestStreamLarge(t *testing.T) {
	if testing.Short() {
		t.Skip("it reads 230 MiB")
	}
	line := strings.Repeat("x", 1<<20-1) + "\n"
	large := func() io.Reader {
		parts := []io.Reader{strings.NewReader("a: 1\n---\n")}
		for range 130 {
			parts = append(parts, strings.NewReader("# "+line))
		}
		parts = append(parts, strings.NewReader("---\nb: 1\n"))
		for range 100 {
			parts = append(parts, strings.NewReader("---\n# "+line))
		}
		return io.MultiReader(append(parts, strings.NewReader("---\nc: 1\n"))...)
	}
	got := streamed(t.Context(), manifest.Reader{Stdin: large()}, "-")
	want := []string{"standard input:1 a: 1", "! standard input:3: the document is larger than 128 MiB", "standard input:134 b: 1", "standard input:336 c: 1"}
	e2e.Equal(t, "a document above the limit is an error, and the next ones are read", want, got)
}

// TestStreamInterrupted checks that reading endless input stops with ctx.
func TestStreamInterrupted(t *testing.T) {
	in, feed := io.Pipe()
	defer in.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		fmt.Fprint(feed, "a: 1\n---\nb: 1\n")
		cancel(errors.New("enough"))
	}()
	all := streamed(ctx, manifest.Reader{Stdin: in}, "-")
	if len(all) == 0 || all[len(all)-1] != `! reading "-": enough` {
		t.Errorf("got %q", all)
	}
}

func FuzzStream(f *testing.F) {
	f.Add([]byte("a: 1\n---\nb: 1\n--- x\n"))
	f.Add([]byte("\xef\xbb\xbf---\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		docs, err := manifest.Split("-", data)
		var got []manifest.Document
		var first error
		for doc, err := range (manifest.Reader{Stdin: strings.NewReader(string(data))}).Stream(t.Context(), "-") {
			if err == nil {
				got = append(got, doc)
			} else if first == nil {
				first = err
			}
		}
		if fmt.Sprint(first) != fmt.Sprint(err) {
			t.Fatalf("Split returns error %v, Stream %v", err, first)
		}
		if diff := cmp.Diff(docs, got); err == nil && diff != "" {
			t.Errorf("Split and Stream differ:\n%s", diff)
		}
	})
}
