package lock_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/xfn-dev/xfn/internal/image/lock"
)

const (
	head = "apiVersion: xfn.dev/v1alpha1\nkind: Lock\n"
	// These are the digests of nothing that there is.
	one = "sha256:1111111111111111111111111111111111111111111111111111111111111111"
	two = "sha256:2222222222222222222222222222222222222222222222222222222222222222"
)

func entry(reference, digest string, more ...string) string {
	return "- {reference: " + reference + ", digest: '" + digest + "'" + strings.Join(more, "") + "}\n"
}

func TestParse(t *testing.T) {
	const ref = "registry.example.org/acme/f:v1.2.0"
	good := entry(ref, one)
	cases := map[string]struct {
		reason, text, err string
	}{
		"OtherVersion":     {"what a later version says cannot be known", "apiVersion: xfn.dev/v2\nkind: Lock\n", "l:1: expected a Lock of xfn.dev/v1alpha1, got kind Lock of xfn.dev/v2"},
		"OtherKind":        {"another object is no lock", "kind: Function\napiVersion: xfn.dev/v1alpha1\n", "expected a Lock"},
		"Nothing":          {"an empty file locks nothing", "# nothing\n", "l: the file holds no YAML document"},
		"Two":              {"of two documents nobody knows which counts", head + "---\n" + head, "l:4: a lock file contains one document"},
		"List":             {"a list is no lock", "- a\n", "l:1: expected an object, got a list"},
		"NoYAML":           {"a file may be broken", head + "functions: [\n", "l:3: "},
		"TwiceInOne":       {"a key may be there twice", head + "functions: []\nfunctions: []\n", "l:4: key \"functions\" already set in map"},
		"UnknownField":     {"what is not known may matter", head + "images: []\n", "l:3: images: there is no such field"},
		"UnknownEntry":     {"also in an entry", head + "functions:\n- reference: " + ref + "\n  digest: '" + one + "'\n  size: 1\n", "l:6: functions[0].size: there is no such field"},
		"NoList":           {"functions are several", head + "functions: {a: b}\n", "l:3: functions: expected a list, got an object"},
		"NoObject":         {"an entry has fields", head + "functions:\n- a\n", "l:4: functions[0]: expected an object, got a string"},
		"NoReference":      {"without a reference nothing is locked", head + "functions:\n- digest: '" + one + "'\n", "l:4: functions[0]: reference is missing"},
		"NumberAsDigest":   {"a digest is a text", head + "functions:\n- reference: " + ref + "\n  digest: 12\n", "l:5: functions[0].digest: expected a string, got a number"},
		"NoDigest":         {"a digest has 64 digits", head + "functions:\n- reference: " + ref + "\n  digest: sha256:12\n", `l:5: "sha256:12" is not a digest`},
		"NoRegistry":       {"a name without a registry means another elsewhere", head + "functions:\n" + entry("acme/f:v1", one), `l:4: "acme/f:v1" is not a full reference`},
		"NoTag":            {"a repository is many images", head + "baseImages:\n" + entry("registry.example.org/acme/f", one), `is not a full reference`},
		"TagAndDigest":     {"one of the two is enough", head + "functions:\n" + entry("registry.example.org/acme/f:v1@"+one, one), `is not a full reference`},
		"Credentials":      {"no secret belongs here, nor in an error", head + "functions:\n" + entry("u:secret@registry.example.org/acme/f:v1", one), `is not a full reference`},
		"OtherDigest":      {"a digest is its own", head + "functions:\n" + entry("registry.example.org/acme/f@"+two, one), "l:4: " + one + " is not the digest of "},
		"NotAllowed":       {"an entry edited by hand may contradict itself", head + "functions:\n" + entry(ref, one, ", constraint: '>=v2'"), "l:4: the constraint >=v2 does not allow " + ref},
		"NoConstraint":     {"so may one with a constraint that is none", head + "functions:\n" + entry(ref, one, ", constraint: newest"), "l:4: the constraint newest does not allow " + ref},
		"ConstraintDigest": {"a digest is allowed by itself", head + "functions:\n" + entry("registry.example.org/acme/f@"+one, one, ", constraint: '>=v1'"), "l:4: the constraint >=v1 does not allow "},
		"Duplicate":        {"of two entries nobody knows which counts", head + "functions:\n" + good + good, "l:5: " + ref + " is locked twice"},
		"DuplicateRange":   {"two for one constraint are no better", head + "functions:\n" + entry(ref, one, ", constraint: '>=v1'") + entry("registry.example.org/acme/f:v1.3.0", one, ", constraint: '>=v1'"), "l:5: registry.example.org/acme/f >=v1 is locked twice"},
		"TwoDigests":       {"a reference means one digest", head + "functions:\n" + good + "baseImages:\n" + entry(ref, two), "l:6: " + ref + " is locked with two digests"},
		"Conflict":         {"git leaves its marks", head + "functions:\n<<<<<<< HEAD\n" + good + "=======\n>>>>>>> a\n", "l:4: it holds an unresolved merge conflict of git"},
		"Files":            {"files are names", head + "files: [1]\n", "l:3: files[0]: expected a string, got a number"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := lock.Parse("l", []byte(tc.text))
			if err == nil || !strings.HasPrefix(err.Error(), "reading lock file: l") || !strings.Contains(err.Error(), tc.err) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: got %v, want %q", tc.reason, err, tc.err)
			}
		})
	}
}

// full is a lock with one of each kind of entry, in no order.
func full() *lock.Lock {
	return &lock.Lock{
		Path:  "l",
		Files: []string{"../conf", "functions.yaml"},
		Functions: []lock.Image{
			{Reference: "registry.example.org/acme/f:v1.2.0", Constraint: ">=v1.0.0, <v2", Digest: one, Platforms: []string{"linux/amd64", "linux/arm64/v8"}},
			{Reference: "registry.example.org/acme/e:v1", Digest: two},
			{Reference: "registry.example.org/acme/f:v1.2.0", Digest: one},
			{Reference: "registry.example.org/acme/g@" + two, Constraint: two, Digest: two},
		},
		BaseImages: []lock.Image{{Reference: "registry.example.org:5000/python:3.12", Digest: one}},
	}
}

func TestEncode(t *testing.T) {
	want, err := os.ReadFile("testdata/full.lock")
	if err != nil {
		t.Fatal(err)
	}
	got, err := full().Encode()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	l, err := lock.Parse("l", got)
	if err != nil {
		t.Fatal(err)
	}
	byName := cmpopts.SortSlices(func(a, b lock.Image) bool { return a.Reference+a.Constraint < b.Reference+b.Constraint })
	if diff := cmp.Diff(full(), l, byName); diff != "" {
		t.Errorf("what was written is read otherwise (-want +got):\n%s", diff)
	}
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	if _, err := lock.Read(filepath.Join(dir, "absent")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if _, err := lock.Read(dir); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("got %v", err)
	}
	large := filepath.Join(dir, "large")
	if err := os.WriteFile(large, bytes.Repeat([]byte("# large\n"), 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := lock.Read(large); err == nil || !strings.Contains(err.Error(), "it is larger than 4 MiB") {
		t.Errorf("got %v", err)
	}
}

// Whatever is read is written as what is read again, in the same bytes.
func FuzzParse(f *testing.F) {
	text, err := full().Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(head))
	f.Add([]byte(head + "functions:\n" + entry("registry.example.org/acme/f:v1.2.0", one, ", constraint: '>=v1', platforms: ['']")))
	f.Add([]byte(head + "<<<<<<< \n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := lock.Parse("l", data)
		if err != nil {
			return
		}
		text, err := l.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := lock.Parse("l", text)
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if more, err := again.Encode(); err != nil || !bytes.Equal(text, more) {
			t.Errorf("%v: got\n%s\nwant\n%s", err, more, text)
		}
	})
}
