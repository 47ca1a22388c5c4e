package clone_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/remote/clone"
)

const limit = 1 << 20

// got is the part of a Snapshot that does not depend on the repository.
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
	text := e2e.Must(e2e.Must(e2e.Must(object.GetTree(s.Objects, s.Tree))(t).File("v"))(t).Contents())(t)
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

// refCases are the cases for local repositories and for servers.
func refCases(h history) map[string]refCase {
	return map[string]refCase{
		"Empty":         {"without a ref, the result is the branch of HEAD", "", got{"three", "main"}, ""},
		"HEAD":          {"HEAD has the name of its branch", "HEAD", got{"three", "main"}, ""},
		"Branch":        {"a branch is found by its short name", "dev/feature", got{"feature", "dev/feature"}, ""},
		"HeadsBranch":   {"a branch is found with a part of its prefix", "heads/dev/feature", got{"feature", "dev/feature"}, ""},
		"FullBranch":    {"a branch is found by its full name", "refs/heads/dev/feature", got{"feature", "dev/feature"}, ""},
		"Tag":           {"a tag is a detached checkout", "v1", got{"one", "HEAD"}, ""},
		"FullTag":       {"a tag is found with its prefix", "refs/tags/v1", got{"one", "HEAD"}, ""},
		"AnnotatedTag":  {"an annotated tag resolves to its commit", "annotated", got{"two", "HEAD"}, ""},
		"Both":          {"a branch has priority over a tag, as in git clone -b", "both", got{"three", "both"}, ""},
		"FullCommit":    {"a full hash is a commit, even if a branch has that name", h.first.String(), got{"one", "HEAD"}, ""},
		"InnerCommit":   {"a full hash may be any commit", h.second.String(), got{"two", "HEAD"}, ""},
		"UpperCommit":   {"hashes ignore case", strings.ToUpper(h.second.String()), got{"two", "HEAD"}, ""},
		"ShortCommit":   {"a short hash is expanded", h.second.String()[:7], got{"two", "HEAD"}, ""},
		"OddShort":      {"a short hash may have an odd length", h.second.String()[:9], got{"two", "HEAD"}, ""},
		"TooShort":      {"a hash needs at least four digits", h.second.String()[:3], got{}, `no branch, tag or commit "` + h.second.String()[:3]},
		"Nope":          {"the error names an unknown ref", "nope", got{}, `no branch, tag or commit "nope"`},
		"FullNope":      {"a full name is looked up as it is", "refs/heads/v1", got{}, `no branch, tag or commit "refs/heads/v1"`},
		"NoSuchShort":   {"the error names an unknown short hash", "0123456", got{}, `no branch, tag or commit "0123456"`},
		"RemoteBranch":  {"remote branches are not branches", "origin/main", got{}, `no branch, tag or commit "origin/main"`},
		"At":            {"revision expressions are not supported", "@", got{}, `no branch, tag or commit "@"`},
		"LeavesFolder":  {"a ref cannot be a path", "refs/../../config", got{}, `no branch, tag or commit`},
		"CommandOption": {"a ref may begin with a dash", "--upload-pack=x", got{}, `no branch, tag or commit`},
	}
}

func checkRef(t *testing.T, url string, tc refCase) {
	t.Helper()
	g, err := read(t, clone.Options{URL: url, Ref: tc.ref})
	e2e.Equal(t, tc.reason, tc.want, g)
	e2e.WantError(t, tc.reason, err, tc.err)
}

func TestLocalRefs(t *testing.T) {
	for _, bare := range []bool{false, true} {
		dir := t.TempDir()
		repo := e2e.Must(git.PlainInit(dir, bare))(t)
		for name, tc := range refCases(newHistory(t, repo.Storer)) {
			t.Run(map[bool]string{true: "Bare", false: "WorkTree"}[bare]+name, func(t *testing.T) {
				t.Setenv("PATH", "") // without a git binary
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
		reason           string
		shallow, anyHash bool
		ref              func(history) string
		want             []int
	}{
		"Branch":      {"a branch transfers one commit, one tree and one blob", true, false, func(history) string { return "main" }, []int{3}},
		"Annotated":   {"an annotated tag transfers one more object", true, false, func(history) string { return "annotated" }, []int{4}},
		"FullCommit":  {"a full hash transfers one commit", true, true, func(h history) string { return h.second.String() }, []int{3}},
		"OffBranches": {"a commit without a reference is found by its full hash", true, true, func(h history) string { return h.loose.String() }, []int{3}},
		"Refused":     {"the history is searched if the server does not send the commit", true, false, func(h history) string { return h.second.String() }, []int{13}},
		"ShortCommit": {"a short hash needs the whole history", true, true, func(h history) string { return h.second.String()[:8] }, []int{13}},
		"NoShallow":   {"a server without shallow clones sends the history of the branch", false, false, func(history) string { return "main" }, []int{9}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			h := newMemoryHistory(t)
			s := &server{objects: h, shallow: tc.shallow, anyHash: tc.anyHash}
			e2e.Must(read(t, clone.Options{URL: s.start(t), Ref: tc.ref(h)}))(t)
			e2e.Equal(t, tc.reason+": objects in each pack", tc.want, s.sent)
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
		"Detached": {"a detached HEAD is a commit", func(t *testing.T, h history) {
			h.refer(t, map[string]plumbing.Hash{"HEAD": h.second})
		}, got{"two", "HEAD"}, ""},
		"Unborn": {"HEAD may point to a missing branch", func(t *testing.T, h history) {
			e2e.NoError(t, h.SetReference(plumbing.NewSymbolicReference(plumbing.HEAD, "refs/heads/none")))
		}, got{}, `no branch, tag or commit "HEAD"`},
		"TagOfATree": {"a tag of a tree is refused", func(t *testing.T, h history) {
			h.refer(t, map[string]plumbing.Hash{"refs/heads/main": e2e.Must(object.GetCommit(h, h.first))(t).TreeHash})
		}, got{}, "is a tree and not a commit"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			h := newHistory(t, e2e.Must(git.PlainInit(dir, true))(t).Storer)
			tc.change(t, h)
			g, err := read(t, clone.Options{URL: dir})
			e2e.Equal(t, tc.reason+", locally", tc.want, g)
			e2e.WantError(t, tc.reason, err, tc.err)
			if name == "TagOfATree" {
				return // The server of the test cannot send a tree without a commit.
			}
			g, err = read(t, clone.Options{URL: (&server{objects: h, shallow: true, anyHash: true}).start(t)})
			e2e.Equal(t, tc.reason+", by http", tc.want, g)
			e2e.WantError(t, tc.reason, err, tc.err)
		})
	}
}

func TestLocalPlaces(t *testing.T) {
	root := t.TempDir()
	newHistory(t, e2e.Must(git.PlainInit(filepath.Join(root, "bare.git"), true))(t).Storer)
	e2e.Must(git.PlainInit(filepath.Join(root, "empty"), false))(t)
	e2e.NoError(t, os.Mkdir(filepath.Join(root, "plain"), 0o755))
	t.Chdir(root)
	slashed := filepath.ToSlash(root)
	cases := map[string]struct{ reason, url, err string }{
		"Path":      {"an absolute path is a repository", filepath.Join(root, "bare.git"), ""},
		"Relative":  {"a relative path is a repository", "bare.git", ""},
		"Dot":       {"a relative path may begin with a dot", "./bare.git", ""},
		"NoSuffix":  {"x finds the repository x.git, as in git", "bare", ""},
		"URL":       {"a file URL is a repository", "file:///" + strings.TrimPrefix(slashed, "/") + "/bare.git", ""},
		"Escaped":   {"a file URL may have escapes", "file:///" + strings.TrimPrefix(slashed, "/") + "/b%61re.git", ""},
		"Empty":     {"an empty repository is an error", "empty", "the repository is empty"},
		"NoRepo":    {"the error names a directory that is not a repository", "plain", "there is no git repository at " + `"` + filepath.Join(root, "plain")},
		"NotThere":  {"the error names a missing path", filepath.Join(root, "absent"), "there is no git repository at "},
		"ColonPath": {"a colon after a slash belongs to a path", "./a:b", "there is no git repository at "},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := read(t, clone.Options{URL: tc.url})
			e2e.WantError(t, tc.reason, err, tc.err)
		})
	}
}

func TestCredentials(t *testing.T) {
	s := &server{objects: newMemoryHistory(t), shallow: true, credentials: "ann:s3cret/é"}
	host := strings.TrimPrefix(s.start(t), "http://")
	e2e.Equal(t, "the credentials in the URL should open the repository", "three", e2e.Must(read(t, clone.Options{URL: "http://ann:s3cret%2F%C3%A9@" + host}))(t).Text)
	cases := map[string]struct{ reason, url, err string }{
		"Wrong":     {"the error has neither the page of the server nor the credentials", "http://ann:t0ken@" + host, "refuses the credentials"},
		"TokenOnly": {"a token as user name is secret, too", "http://t0ken@" + host, "refuses the credentials"},
		"NoRepo":    {"a missing repository is an error", "http://ann:s3cret%2F%C3%A9@" + host + "/t", "no such repository"},
		"Refused":   {"an error of the connection has only the host", "http://ann:t0ken@127.0.0.1:1/x", "127.0.0.1:1"},
		"Unescaped": {"the error does not repeat an invalid URL", "http://ann:t0k/en@" + host, "not a valid URL"},
		"Query":     {"the error does not repeat a query", "http://" + host + "?access=t0ken", "must not have a query"},
		"Fragment":  {"the error does not repeat a fragment", "http://" + host + "#t0ken", "or a fragment"},
		"NoHost":    {"a URL needs a host", "https:///ann:t0ken@x", "has no host"},
		"Scheme":    {"an unsupported scheme is refused", "ftp://ann:t0ken@" + host, `unsupported protocol "ftp"`},
		"External":  {"external transports, which run commands, are refused", "ext::sh://t0ken", `unsupported protocol "ext"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := read(t, clone.Options{URL: tc.url})
			e2e.WantError(t, tc.reason, err, tc.err)
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
		"None":         {"a URL without credentials does not change", "https://h:8443/a@b/c.git/", "https://h:8443/a@b/c.git/"},
		"User":         {"the user of an http URL may be a token", "https://tok@h/a", "https://h/a"},
		"Password":     {"a password is removed", "https://u:tok@h/a", "https://h/a"},
		"Unescaped":    {"a password may have a slash", "https://u:t/ok@h/a", "https://h/a"},
		"Space":        {"a password may have a space", "https://u:t ok@h/a", "https://h/a"},
		"Query":        {"a query is removed", "https://h/a?t=tok", "https://h/a"},
		"Fragment":     {"a fragment is removed", "https://h/a#tok", "https://h/a"},
		"SSHUser":      {"the user of an ssh URL is not secret", "ssh://git@h/a", "ssh://git@h/a"},
		"SSHPassword":  {"the password of an ssh URL is removed", "ssh://git:tok@h/a", "ssh://git@h/a"},
		"HostPath":     {"the short form of ssh does not change", "git@h:a/b.git", "git@h:a/b.git"},
		"HostPathPass": {"a password in the short form of ssh is removed", "git:tok@h:a/b.git", "git@h:a/b.git"},
		"Path":         {"a path does not change", "/a:b@c/d", "/a:b@c/d"},
		"File":         {"a file URL does not change", "file:///a/b@c", "file:///a/b@c"},
		"Empty":        {"empty text does not change", "", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e2e.Equal(t, tc.reason, tc.want, clone.Redact(tc.url))
		})
	}
}
