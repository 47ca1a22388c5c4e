package clone_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/google/go-cmp/cmp"

	"github.com/xfn-dev/xfn/init/internal/clone"
	"github.com/xfn-dev/xfn/internal/hint"
)

const limit = 1 << 20

// got is what a test can say of a Snapshot without knowing its repository.
type got struct{ Text, Ref string }

func read(t *testing.T, o clone.Options) (got, error) {
	t.Helper()
	if o.MaxBytes == 0 {
		o.MaxBytes = limit
	}
	s, err := clone.Commit(t.Context(), o)
	if err != nil {
		return got{}, err
	}
	tree, err := object.GetTree(s.Objects, s.Tree)
	if err != nil {
		t.Fatal(err)
	}
	f, err := tree.File("v")
	if err != nil {
		t.Fatal(err)
	}
	text, err := f.Contents()
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Commit) != 40 {
		t.Errorf("commit %q is not a full hash", s.Commit)
	}
	return got{text, s.Ref}, nil
}

type refCase struct {
	reason string
	ref    string
	want   got
	err    string
}

// refCases are true of a local repository and of any server.
func refCases(h history) map[string]refCase {
	return map[string]refCase{
		"Empty":         {"no ref is the branch that HEAD points to", "", got{"three", "main"}, ""},
		"HEAD":          {"HEAD is that branch by its name", "HEAD", got{"three", "main"}, ""},
		"Branch":        {"a branch", "dev/feature", got{"feature", "dev/feature"}, ""},
		"HeadsBranch":   {"a branch with part of its prefix", "heads/dev/feature", got{"feature", "dev/feature"}, ""},
		"FullBranch":    {"a branch with all of its prefix", "refs/heads/dev/feature", got{"feature", "dev/feature"}, ""},
		"Tag":           {"a tag is a checkout of no branch", "v1", got{"one", "HEAD"}, ""},
		"FullTag":       {"a tag with its prefix", "refs/tags/v1", got{"one", "HEAD"}, ""},
		"AnnotatedTag":  {"an annotated tag leads to its commit", "annotated", got{"two", "HEAD"}, ""},
		"Both":          {"a branch wins over a tag, as in git clone -b", "both", got{"three", "both"}, ""},
		"FullCommit":    {"a full hash is a commit, even where a branch has it for a name", h.first.String(), got{"one", "HEAD"}, ""},
		"InnerCommit":   {"a full hash need not be the tip of anything", h.second.String(), got{"two", "HEAD"}, ""},
		"UpperCommit":   {"hashes have no case", strings.ToUpper(h.second.String()), got{"two", "HEAD"}, ""},
		"ShortCommit":   {"a short hash", h.second.String()[:7], got{"two", "HEAD"}, ""},
		"OddShort":      {"a short hash of an odd length", h.second.String()[:9], got{"two", "HEAD"}, ""},
		"TooShort":      {"three digits are too few to be a hash", h.second.String()[:3], got{}, `no branch, tag or commit "` + h.second.String()[:3]},
		"Nope":          {"what is not there is named", "nope", got{}, `no branch, tag or commit "nope"`},
		"FullNope":      {"a full name is not searched for elsewhere", "refs/heads/v1", got{}, `no branch, tag or commit "refs/heads/v1"`},
		"NoSuchShort":   {"a short hash of nothing", "0123456", got{}, `no branch, tag or commit "0123456"`},
		"RemoteBranch":  {"the branches of a remote are none of ours", "origin/main", got{}, `no branch, tag or commit "origin/main"`},
		"At":            {"revisions other than commits are not known", "@", got{}, `no branch, tag or commit "@"`},
		"LeavesFolder":  {"a ref is not a path", "refs/../../config", got{}, `no branch, tag or commit`},
		"CommandOption": {"a dash in front means nothing", "--upload-pack=x", got{}, `no branch, tag or commit`},
	}
}

func checkRef(t *testing.T, url string, tc refCase) {
	t.Helper()
	g, err := read(t, clone.Options{URL: url, Ref: tc.ref})
	if diff := cmp.Diff(tc.want, g); diff != "" {
		t.Errorf("%s (-want, +got):\n%s", tc.reason, diff)
	}
	checkError(t, tc.reason, tc.err, err)
}

func checkError(t *testing.T, reason, want string, err error) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("%s: %v", reason, err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("%s: got error %v, want one with %q", reason, err, want)
	}
}

func TestLocalRefs(t *testing.T) {
	for _, bare := range []bool{false, true} {
		dir := t.TempDir()
		repo, err := git.PlainInit(dir, bare)
		if err != nil {
			t.Fatal(err)
		}
		for name, tc := range refCases(newHistory(t, repo.Storer)) {
			t.Run(map[bool]string{true: "Bare", false: "WorkTree"}[bare]+name, func(t *testing.T) {
				t.Setenv("PATH", "") // no git binary is there to be called
				checkRef(t, dir, tc)
			})
		}
	}
}

func TestRemoteRefs(t *testing.T) {
	servers := map[string]*server{
		"Able":      {shallow: true, anyHash: true, sideband: true},
		"TipsOnly":  {shallow: true},
		"FullPacks": {sideband: true},
	}
	for name, s := range servers {
		h := newMemoryHistory(t)
		s.objects = h
		url := s.start(t)
		for ref, tc := range refCases(h) {
			t.Run(name+ref, func(t *testing.T) { checkRef(t, url, tc) })
		}
	}
}

func TestTransfersLittle(t *testing.T) {
	cases := map[string]struct {
		reason  string
		shallow bool
		anyHash bool
		ref     func(history) string
		want    []int
	}{
		"Branch":      {"a branch is one commit, one tree, one file", true, false, func(history) string { return "main" }, []int{3}},
		"Annotated":   {"a tag is one object more", true, false, func(history) string { return "annotated" }, []int{4}},
		"FullCommit":  {"a commit is asked for by its hash", true, true, func(h history) string { return h.second.String() }, []int{3}},
		"OffBranches": {"a commit that no branch leads to is found by its full hash", true, true, func(h history) string { return h.loose.String() }, []int{3}},
		"Refused":     {"a server that sends no such commit sends what leads to it", true, false, func(h history) string { return h.second.String() }, []int{13}},
		"ShortCommit": {"a short hash needs all history", true, true, func(h history) string { return h.second.String()[:8] }, []int{13}},
		"NoShallow":   {"a server without depths sends the branch's history", false, false, func(history) string { return "main" }, []int{9}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			h := newMemoryHistory(t)
			s := &server{objects: h, shallow: tc.shallow, anyHash: tc.anyHash}
			if _, err := read(t, clone.Options{URL: s.start(t), Ref: tc.ref(h)}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, s.sent); diff != "" {
				t.Errorf("%s: objects in each pack (-want, +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestHeads(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(*testing.T, history)
		want   got
		err    string
	}{
		"Detached": {"a HEAD that is on no branch is a commit", func(t *testing.T, h history) {
			h.refer(t, map[string]plumbing.Hash{"HEAD": h.second})
		}, got{"two", "HEAD"}, ""},
		"Unborn": {"HEAD may point to a branch that is not there", func(t *testing.T, h history) {
			if err := h.SetReference(plumbing.NewSymbolicReference(plumbing.HEAD, "refs/heads/none")); err != nil {
				t.Fatal(err)
			}
		}, got{}, `no branch, tag or commit "HEAD"`},
		"TagOfATree": {"a tag may name a tree", func(t *testing.T, h history) {
			c, err := object.GetCommit(h, h.first)
			if err != nil {
				t.Fatal(err)
			}
			h.refer(t, map[string]plumbing.Hash{"refs/heads/main": c.TreeHash})
		}, got{}, "is a tree and not a commit"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			repo, err := git.PlainInit(dir, true)
			if err != nil {
				t.Fatal(err)
			}
			h := newHistory(t, repo.Storer)
			tc.change(t, h)
			g, err := read(t, clone.Options{URL: dir})
			if diff := cmp.Diff(tc.want, g); diff != "" {
				t.Errorf("%s, locally (-want, +got):\n%s", tc.reason, diff)
			}
			checkError(t, tc.reason, tc.err, err)
			if name == "TagOfATree" {
				return // the server of this test sends commits alone
			}
			g, err = read(t, clone.Options{URL: (&server{objects: h, shallow: true, anyHash: true}).start(t)})
			if diff := cmp.Diff(tc.want, g); diff != "" {
				t.Errorf("%s, by http (-want, +got):\n%s", tc.reason, diff)
			}
			checkError(t, tc.reason, tc.err, err)
		})
	}
}

func TestLocalPlaces(t *testing.T) {
	root := t.TempDir()
	repo, err := git.PlainInit(filepath.Join(root, "bare.git"), true)
	if err != nil {
		t.Fatal(err)
	}
	newHistory(t, repo.Storer)
	if _, err := git.PlainInit(filepath.Join(root, "empty"), false); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(root, "plain"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(root)
	slashed := filepath.ToSlash(root)
	cases := map[string]struct{ reason, url, err string }{
		"Path":      {"an absolute path", filepath.Join(root, "bare.git"), ""},
		"Relative":  {"a relative path", "bare.git", ""},
		"Dot":       {"a relative path with a dot", "./bare.git", ""},
		"NoSuffix":  {"git finds x.git by x, and so do we", "bare", ""},
		"URL":       {"a file URL", "file:///" + strings.TrimPrefix(slashed, "/") + "/bare.git", ""},
		"Escaped":   {"a file URL with escapes", "file:///" + strings.TrimPrefix(slashed, "/") + "/b%61re.git", ""},
		"Empty":     {"a repository without commits says so", "empty", "the repository is empty"},
		"NoRepo":    {"a directory that is none is named", "plain", "there is no git repository at " + `"` + filepath.Join(root, "plain")},
		"NotThere":  {"a path that is not there is named", filepath.Join(root, "absent"), "there is no git repository at "},
		"ColonPath": {"a colon behind a slash makes no host", "./a:b", "there is no git repository at "},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := read(t, clone.Options{URL: tc.url})
			checkError(t, tc.reason, tc.err, err)
		})
	}
}

func TestCredentials(t *testing.T) {
	s := &server{objects: newMemoryHistory(t), shallow: true, credentials: "ann:s3cret/é"}
	host := strings.TrimPrefix(s.start(t), "http://")
	if g, err := read(t, clone.Options{URL: "http://ann:s3cret%2F%C3%A9@" + host}); err != nil || g.Text != "three" {
		t.Errorf("credentials of the URL open the repository: got %+v, %v", g, err)
	}
	cases := map[string]struct{ reason, url, err string }{
		"Wrong":     {"the server's page is not repeated, nor what it was shown", "http://ann:t0ken@" + host, "refuses the credentials"},
		"TokenOnly": {"a token for a user is secret too", "http://t0ken@" + host, "refuses the credentials"},
		"NoRepo":    {"an address that serves no repository", "http://ann:s3cret%2F%C3%A9@" + host + "/t", "no such repository"},
		"Refused":   {"an error of the connection names the host alone", "http://ann:t0ken@127.0.0.1:1/x", "127.0.0.1:1"},
		"Unescaped": {"a URL that cannot be read is not repeated", "http://ann:t0k/en@" + host, "not a valid URL"},
		"Query":     {"a query is refused, and not repeated", "http://" + host + "?access=t0ken", "without ? or #"},
		"Fragment":  {"a fragment is refused, and not repeated", "http://" + host + "#t0ken", "without ? or #"},
		"NoHost":    {"a URL has to name a host", "https:///ann:t0ken@x", "names no host"},
		"Scheme":    {"schemes that git knows no more of", "ftp://ann:t0ken@" + host, `not by "ftp"`},
		"External":  {"no command is run for a scheme", "ext::sh://t0ken", `not by "ext"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := read(t, clone.Options{URL: tc.url})
			checkError(t, tc.reason, tc.err, err)
			for _, secret := range []string{"t0k", "s3cret", "ann", "html", "\x1b"} {
				if err != nil && strings.Contains(err.Error()+string(hint.Of(err)), secret) {
					t.Errorf("%s: %q tells %q", tc.reason, err, secret)
				}
			}
		})
	}
}

func TestRedact(t *testing.T) {
	cases := map[string]struct{ reason, url, want string }{
		"None":         {"nothing to hide, nothing changed", "https://h:8443/a@b/c.git/", "https://h:8443/a@b/c.git/"},
		"User":         {"a user of http may be a token", "https://tok@h/a", "https://h/a"},
		"Password":     {"a password", "https://u:tok@h/a", "https://h/a"},
		"Unescaped":    {"a slash in a password", "https://u:t/ok@h/a", "https://h/a"},
		"Space":        {"a space in a password", "https://u:t ok@h/a", "https://h/a"},
		"Query":        {"a query", "https://h/a?t=tok", "https://h/a"},
		"Fragment":     {"a fragment", "https://h/a#tok", "https://h/a"},
		"SSHUser":      {"the user of ssh is a name", "ssh://git@h/a", "ssh://git@h/a"},
		"SSHPassword":  {"its password is not", "ssh://git:tok@h/a", "ssh://git@h/a"},
		"HostPath":     {"the short form of ssh", "git@h:a/b.git", "git@h:a/b.git"},
		"HostPathPass": {"and a password in it", "git:tok@h:a/b.git", "git@h:a/b.git"},
		"Path":         {"a path is a path", "/a:b@c/d", "/a:b@c/d"},
		"File":         {"a file URL", "file:///a/b@c", "file:///a/b@c"},
		"Empty":        {"nothing at all", "", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if g := clone.Redact(tc.url); g != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, g, tc.want)
			}
		})
	}
}
