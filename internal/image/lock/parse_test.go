package lock_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/image/lock"
)

const (
	head = "apiVersion: xfn.dev/v1alpha1\nkind: Lock\n"
	// Two valid digests. No image has them.
	one = "sha256:1111111111111111111111111111111111111111111111111111111111111111"
	two = "sha256:2222222222222222222222222222222222222222222222222222222222222222"
	// No repository has this commit.
	commit = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
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
		"NoKind":           {"an object without a kind is an error", "foo: 1\n", "l:1: expected a Lock of xfn.dev/v1alpha1, but apiVersion and kind are missing"},
		"OtherVersion":     {"another version of the format is an error", "apiVersion: xfn.dev/v2\nkind: Lock\n", "l:1: expected a Lock of xfn.dev/v1alpha1, got kind Lock of xfn.dev/v2"},
		"OtherKind":        {"another kind is an error", "kind: Function\napiVersion: xfn.dev/v1alpha1\n", "expected a Lock"},
		"Nothing":          {"an empty file is an error", "# nothing\n", "l: there is no YAML document"},
		"Two":              {"two documents are an error", head + "---\n" + head, "l:4: a lock file contains one document"},
		"List":             {"a list is an error", "- a\n", "l:1: expected an object, got a list"},
		"NoYAML":           {"invalid YAML is an error", head + "functions: [\n", "l:3: "},
		"TwiceInOne":       {"a repeated key is an error", head + "functions: []\nfunctions: []\n", "l:4: key \"functions\" already set in map"},
		"UnknownField":     {"an unknown field is an error", head + "images: []\n", "l:3: images: there is no such field"},
		"UnknownEntry":     {"an unknown field of an entry is an error", head + "functions:\n- reference: " + ref + "\n  digest: '" + one + "'\n  size: 1\n", "l:6: functions[0].size: there is no such field"},
		"NoList":           {"functions must be a list", head + "functions: {a: b}\n", "l:3: functions: expected a list, got an object"},
		"NoObject":         {"an entry must be an object", head + "functions:\n- a\n", "l:4: functions[0]: expected an object, got a string"},
		"NoReference":      {"a reference is required", head + "functions:\n- digest: '" + one + "'\n", "l:4: functions[0]: reference is missing"},
		"NumberAsDigest":   {"a digest must be a string", head + "functions:\n- reference: " + ref + "\n  digest: 12\n", "l:5: functions[0].digest: expected a string, got a number"},
		"NoDigest":         {"a digest has 64 digits", head + "functions:\n- reference: " + ref + "\n  digest: sha256:12\n", `l:5: "sha256:12" is not a digest`},
		"NoRegistry":       {"a reference must have a registry", head + "functions:\n" + entry("acme/f:v1", one), `l:4: "acme/f:v1" is not a full reference`},
		"NoTag":            {"a reference must have a tag or digest", head + "baseImages:\n" + entry("registry.example.org/acme/f", one), `is not a full reference`},
		"TagAndDigest":     {"a reference must not have a tag and a digest", head + "functions:\n" + entry("registry.example.org/acme/f:v1@"+one, one), `is not a full reference`},
		"Credentials":      {"credentials are an error that does not show them", head + "functions:\n" + entry("u:secret@registry.example.org/acme/f:v1", one), `is not a full reference`},
		"OtherDigest":      {"the digests of an entry must be equal", head + "functions:\n" + entry("registry.example.org/acme/f@"+two, one), "l:4: " + one + " is not the digest of "},
		"NotAllowed":       {"a constraint must allow the reference", head + "functions:\n" + entry(ref, one, ", constraint: '>=v2'"), "l:4: the constraint >=v2 does not allow " + ref},
		"NoConstraint":     {"an invalid constraint is an error", head + "functions:\n" + entry(ref, one, ", constraint: newest"), "l:4: the constraint newest does not allow " + ref},
		"ConstraintDigest": {"a digest must be its own constraint", head + "functions:\n" + entry("registry.example.org/acme/f@"+one, one, ", constraint: '>=v1'"), "l:4: the constraint >=v1 does not allow "},
		"Duplicate":        {"a repeated reference is an error", head + "functions:\n" + good + good, "l:5: " + ref + " is locked twice"},
		"DuplicateRange":   {"a repeated constraint is an error", head + "functions:\n" + entry(ref, one, ", constraint: '>=v1'") + entry("registry.example.org/acme/f:v1.3.0", one, ", constraint: '>=v1'"), "l:5: registry.example.org/acme/f >=v1 is locked twice"},
		"TwoDigests":       {"two digests of one reference are an error", head + "functions:\n" + good + "baseImages:\n" + entry(ref, two), "l:6: " + ref + " is locked with two digests"},
		"Conflict":         {"a merge conflict is an error with a hint", head + "functions:\n<<<<<<< HEAD\n" + good + "=======\n>>>>>>> a\n", "l:4: unresolved git merge conflict"},
		"APIOfImage":       {"an image is not an API", head + "apis:\n" + entry(ref, one), "l:4: \"" + ref + "\" is neither git+REPOSITORY, a URL nor k8s:VERSION"},
		"APIAsPackage":     {"an API is not a package", head + "packages:\n" + entry("k8s:v1.33.0", one), `l:4: "k8s:v1.33.0" is not a full reference`},
		"NoCommit":         {"a git repository has a commit", head + "apis:\n" + entry("git+https://example.org/a", one), "is not a commit"},
		"NoAPIDigest":      {"a URL has a digest", head + "apis:\n" + entry("https://example.org/a.yaml", commit), "is not a digest"},
		"APIConstraint":    {"a URL has no branch", head + "apis:\n" + entry("https://example.org/a.yaml", one, ", constraint: main"), "only a git repository has a constraint"},
		"DuplicateAPI":     {"a repeated API is an error", head + "apis:\n" + entry("k8s:v1.33.0", one) + entry("k8s:v1.33.0", one), "l:5: k8s:v1.33.0 is locked twice"},
		"Files":            {"a file name must be a string", head + "files: [1]\n", "l:3: files[0]: expected a string, got a number"},
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

// full returns a lock with each kind of entry, unsorted.
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
		Packages: []lock.Image{
			{Reference: "registry.example.org/acme/p@" + two, Constraint: two, Digest: two},
			{Reference: "registry.example.org/acme/c:v1.0.0", Constraint: ">=v1", Digest: one, Dependencies: []string{"registry.example.org/acme/p " + two}},
		},
		APIs: []lock.Image{
			{Reference: "k8s:v1.33.0", Digest: one},
			{Reference: "git+https://git.example.org/acme/crds", Constraint: "main", Digest: commit},
			{Reference: "git+https://git.example.org/acme/crds", Digest: strings.Repeat("b", 40)},
			{Reference: "https://example.org/crd.yaml", Digest: two},
		},
	}
}

func TestEncode(t *testing.T) {
	want := []byte(e2e.ReadFile(t, "testdata/full.lock"))
	got := e2e.Must(full().Encode())(t)
	e2e.Equal(t, "a lock has the encoding of the golden file", string(want), string(got))
	l := e2e.Must(lock.Parse("l", got))(t)
	byName := cmpopts.SortSlices(func(a, b lock.Image) bool { return a.Reference+a.Constraint < b.Reference+b.Constraint })
	e2e.Equal(t, "the encoded lock is parsed to another one", full(), l, byName)
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	e2e.ErrorIs(t, "a missing lock file is an error", e2e.Err(lock.Read(filepath.Join(dir, "absent"))), fs.ErrNotExist)
	e2e.ErrorHas(t, "a folder is an error with its path", e2e.Err(lock.Read(dir)), dir)
	large := filepath.Join(dir, "large")
	e2e.NoError(t, os.WriteFile(large, bytes.Repeat([]byte("# large\n"), 1<<20), 0o600))
	e2e.ErrorHas(t, "the size of a lock file is limited", e2e.Err(lock.Read(large)), "the file is larger than 4 MiB")
}

// A parsed lock is encoded and parsed to the same bytes.
func FuzzParse(f *testing.F) {
	f.Add(e2e.Must(full().Encode())(f))
	f.Add([]byte(head))
	f.Add([]byte(head + "functions:\n" + entry("registry.example.org/acme/f:v1.2.0", one, ", constraint: '>=v1', platforms: ['']")))
	f.Add([]byte(head + "<<<<<<< \n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := lock.Parse("l", data)
		if err != nil {
			return
		}
		text := e2e.Must(l.Encode())(t)
		again, err := lock.Parse("l", text)
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if more, err := again.Encode(); err != nil || !bytes.Equal(text, more) {
			t.Errorf("%v: got\n%s\nwant\n%s", err, more, text)
		}
	})
}
