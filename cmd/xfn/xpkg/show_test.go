package xpkg_test

import (
	"archive/tar"
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	cmd "github.com/xfn-dev/xfn/cmd/xfn/xpkg"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/xpkg"
)

// hostile is a package with long names that have control characters.
const hostile = `apiVersion: meta.pkg.crossplane.io/v1
kind: Configuration
metadata:
  name: "a\e[2J\u202Eb"
  annotations:
    "meta.example.org/\e]0;x\a": "one\ntwo\e[31m LONG"
spec:
  crossplane: {version: ">=v1"}
  dependsOn:
  - {provider: "example.org/LONG", version: ">=v1.0.0"}
---
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: "LONG\r\nfrom          elsewhere"}
spec: {compositeTypeRef: {apiVersion: a/v1, kind: A}, mode: Pipeline, pipeline: [{step: "LONG", functionRef: {name: f}}]}
`

// packageFile writes a package with any package.yaml.
func packageFile(t *testing.T, text string) string {
	t.Helper()
	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	e2e.NoError(t, w.WriteHeader(&tar.Header{Name: "package.yaml", Size: int64(len(text)), Mode: 0o644}))
	e2e.Must(w.Write([]byte(text)))(t)
	e2e.NoError(t, w.Close())
	img := e2e.Must(mutate.Append(empty.Image, mutate.Addendum{
		Layer: static.NewLayer(layer.Bytes(), types.OCIUncompressedLayer), Annotations: map[string]string{xpkg.Annotation: "base"},
	}))(t)
	path := t.TempDir() + "/a.xpkg"
	e2e.NoError(t, xpkg.WriteFile(t.Context(), path, img, nil))
	return path
}

// printed returns the output of run on a terminal of so many columns, 0 for a pipe.
func printed(t *testing.T, columns int, run func(*terminal.Terminal) error) string {
	t.Helper()
	null := e2e.Must(os.OpenFile(os.DevNull, os.O_RDWR, 0))(t)
	defer null.Close()
	term := terminal.New(null, null, null)
	var out bytes.Buffer
	term.Stdout, term.Columns = &out, columns
	e2e.NoError(t, run(term))
	return out.String()
}

// TestViewsAreSafe checks that text of a package does not move the cursor or break a line,
// that lines fit a terminal, and that text for a pipe is not clipped.
func TestViewsAreSafe(t *testing.T) {
	for _, columns := range []int{80, 120, 0} {
		t.Run(fmt.Sprint(columns), func(t *testing.T) { testViews(t, columns) })
	}
}

func testViews(t *testing.T, columns int) {
	a := packageFile(t, strings.ReplaceAll(hostile, "LONG", strings.Repeat("long", 50)))
	b := packageFile(t, strings.ReplaceAll(hostile, "LONG", strings.Repeat("other", 500)))
	program := terminal.Program{Name: "xfn"}
	views := map[string]string{
		"inspect": printed(t, columns, func(term *terminal.Terminal) error {
			return (&cmd.InspectCmd{Package: a, Format: terminal.Format{Format: "text"}}).Run(t.Context(), term, program)
		}),
		"diff": printed(t, columns, func(term *terminal.Terminal) error {
			return (&cmd.DiffCmd{From: a, To: b, Format: terminal.Format{Format: "text"}}).Run(t.Context(), term, program)
		}),
	}
	for name, text := range views {
		if len(text) < 300 {
			t.Errorf("the output of %s is incomplete: %q", name, text)
		}
		if terminal.Printable(text) != text || strings.ContainsAny(text, "\t") {
			t.Errorf("%s prints %q", name, text)
		}
		if clipped := strings.Contains(text, "…"); clipped != (columns > 0) {
			t.Errorf("%s for %d columns has clipped text: %t", name, columns, clipped)
		}
		if columns == 0 && strings.Contains(text, strings.Repeat(" ", 100)) {
			t.Errorf("%s pads columns to the length of the longest cell", name)
		}
		for line := range strings.Lines(text) {
			line = strings.TrimSuffix(line, "\n")
			if columns > 0 && utf8.RuneCountInString(line) > columns {
				t.Errorf("%s has a line of %d characters: %s", name, utf8.RuneCountInString(line), line)
			}
			if strings.HasPrefix(line, "from ") {
				t.Errorf("a name is a separate line in the output of %s: %s", name, line)
			}
		}
	}
}

// Inspect prints a plain image.
func TestInspectPlainImage(t *testing.T) {
	path := t.TempDir() + "/image.tar"
	img := indexOf(plain(t), "linux/amd64", "linux/arm64")
	e2e.NoError(t, xpkg.WriteFile(t.Context(), path, img, nil))
	got := printed(t, 0, func(term *terminal.Terminal) error {
		return (&cmd.InspectCmd{Package: path, Format: terminal.Format{Format: "text"}}).Run(t.Context(), term, terminal.Program{})
	})
	for _, want := range []string{"An image that is not a package", "2 images", "Image for linux/arm64"} {
		e2e.Has(t, "the text for an image that is not a package says so, and lists its platforms", got, want)
	}
	e2e.ErrorHas(t, "extracting an image that is not a package is an error", e2e.Err(extract(t, "--from-xpkg", path)), "the image is not a package")
}

// Without a platform, extract reads a single image of any platform, and from an
// index the image that the control plane reads.
func TestExtractPlatform(t *testing.T) {
	fn := buildCase(t, golden, "meta-fn-v1").(v1.Image)
	alone, several := t.TempDir()+"/alone.xpkg", t.TempDir()+"/several.xpkg"
	idx := indexOf(fn, "linux/arm64")
	arm := e2e.Must(idx.Image(e2e.Must(idx.IndexManifest())(t).Manifests[0].Digest))(t)
	for path, a := range map[string]xpkg.Artifact{alone: arm, several: indexOf(fn, "linux/arm64", "linux/riscv64")} {
		e2e.NoError(t, xpkg.WriteFile(t.Context(), path, a, nil))
	}
	for _, tc := range []struct {
		path, platform string
		ok             bool
	}{
		{alone, "", true},
		{alone, "linux/arm64", true},
		{alone, "linux/amd64", false},
		{several, "", false},
		{several, "linux/riscv64", true},
	} {
		out, err := extract(t, "--from-xpkg", tc.path, "-o", "-", "--platform", tc.platform)
		if (err == nil) != tc.ok || tc.ok && !strings.Contains(out, "kind: Function") {
			t.Errorf("%s for %q: got %v, want success %t", tc.path, tc.platform, err, tc.ok)
		}
	}
}
