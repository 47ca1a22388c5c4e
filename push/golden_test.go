package push_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	ggcr "github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
	"github.com/xfn-dev/xfn/push"
	"github.com/xfn-dev/xfn/xpkg"
)

// better lists where we do better than the incumbent (its faults are counted in
// the corpus), by case.
var better = map[string]string{
	"multi-no-platform":     "refused: nobody could pull such an index",
	"multi-same-file-twice": "refused: an index has one image per platform",
	"multi-same-platform":   "refused: an index has one image per platform",
	"multi-arm-variants":    "the variant is kept in the index",
	"multi-verbose":         "the variant is kept in the index",
	"multi-windows":         "os.features are kept in the index",
}

// A shape is what has to be the same at the registry: what a manifest points
// at and says about it, not its media types.
type shape struct {
	Config    string
	Layers    []layer
	Children  []shape
	Platforms []v1.Platform
}

type layer struct {
	Digest      string
	Annotations map[string]string
}

// The incumbent's pushes, by case: same verdict, same content at the tag.
func TestGolden(t *testing.T) {
	dirs, err := filepath.Glob("testdata/golden/*")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no golden cases: %v", err)
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			host := remotetest.Serve(t, remotetest.Handler())
			if strings.HasPrefix(filepath.Base(dir), "overwrite-") {
				if _, err := pushFiles(t, host, dir, []string{"-f", "a.xpkg,b.xpkg", "127.0.0.1:5055/gold/p-overwrite-index-by-image:v1.0.0"}); err != nil {
					t.Fatal(err)
				}
			}
			ref, err := pushFiles(t, host, dir, strings.Fields(read(t, dir, "args")))
			wantOK := strings.TrimSpace(read(t, dir, "exit")) == "0" && !strings.HasPrefix(better[filepath.Base(dir)], "refused")
			if (err == nil) != wantOK {
				t.Fatalf("got %v, want success %t", err, wantOK)
			}
			if err != nil {
				return
			}
			want := goldenShapes(t, dir)
			got := shapeAt(t, host, strings.TrimPrefix(ref, host+"/"))
			if strings.HasSuffix(better[filepath.Base(dir)], "kept in the index") {
				got.Platforms = lessDetail(got.Platforms)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("another package is at the tag (-incumbent +ours):\n%s", diff)
			}
		})
	}
}

func read(t *testing.T, elem ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(elem...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// pushFiles does what the command line does with args.
func pushFiles(t *testing.T, host, dir string, args []string) (string, error) {
	t.Helper()
	var named []xpkg.Named
	for i, arg := range args {
		if arg != "-f" {
			continue
		}
		for file := range strings.SplitSeq(args[i+1], ",") {
			f, err := xpkg.Open(t.Context(), filepath.Join(dir, "in", file))
			if err != nil {
				return "", err
			}
			t.Cleanup(func() { _ = f.Close() })
			named = append(named, xpkg.Named{Name: file, Artifact: f.Artifact})
		}
	}
	a, err := xpkg.Join(t.Context(), named)
	if err != nil {
		return "", err
	}
	_, rest, _ := strings.Cut(args[len(args)-1], "/")
	ref, err := remote.ParseTag(rest, host)
	if err != nil {
		return "", err
	}
	_, err = push.Artifact(t.Context(), ref, a, push.Options{})
	return ref.Name(), err
}

// goldenShapes reads what the incumbent left at the tag.
func goldenShapes(t *testing.T, dir string) shape {
	t.Helper()
	var registry map[string]struct{ Body json.RawMessage }
	if err := json.Unmarshal([]byte(read(t, dir, "registry.json")), &registry); err != nil {
		t.Fatal(err)
	}
	byDigest, top := map[string]json.RawMessage{}, json.RawMessage(nil)
	for ref, entry := range registry {
		if _, digest, ok := strings.Cut(ref, "@"); ok {
			byDigest[digest] = entry.Body
		} else {
			top = entry.Body
		}
	}
	return shapeOf(t, top, func(digest string) json.RawMessage { return byDigest[digest] })
}

func shapeAt(t *testing.T, host, rest string) shape {
	t.Helper()
	ref, err := remote.ParseTag(rest, host)
	if err != nil {
		t.Fatal(err)
	}
	desc, err := ggcr.Get(ref)
	if err != nil {
		t.Fatal(err)
	}
	return shapeOf(t, desc.Manifest, func(digest string) json.RawMessage {
		child, err := ggcr.Get(ref.Digest(digest))
		if err != nil {
			t.Fatal(err)
		}
		return child.Manifest
	})
}

func shapeOf(t *testing.T, raw json.RawMessage, get func(digest string) json.RawMessage) shape {
	t.Helper()
	var m struct {
		Config    struct{ Digest string }
		Layers    []layer
		Manifests []struct {
			Digest   string
			Platform *v1.Platform
		}
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatal(err)
	}
	s := shape{Config: m.Config.Digest, Layers: m.Layers}
	for _, child := range m.Manifests {
		s.Children = append(s.Children, shapeOf(t, get(child.Digest), get))
		s.Platforms = append(s.Platforms, *child.Platform)
	}
	return s
}

func lessDetail(ps []v1.Platform) []v1.Platform {
	var out []v1.Platform
	for _, p := range ps {
		p.Variant, p.OSFeatures = "", nil
		out = append(out, p)
	}
	return out
}
