package scaffold_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/xfn-dev/xfn/internal/e2e"
)

// TestMain keeps tests from the internet.
func TestMain(m *testing.M) {
	for _, name := range []string{"HTTPS_PROXY", "https_proxy"} {
		if err := os.Setenv(name, "http://127.0.0.1:1"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

const initScript = `#!/bin/sh
echo "script args: $# [$1] [$2]"
echo "script cwd: $(pwd)"
echo "to stderr" >&2
read line || line=EOF
echo "stdin gave: $line"
echo done > "$2/made-by-script"
`

// makeRepositories creates the repositories of the golden cases, with the same commits.
// It returns the folder of the repositories, for which golden files have "{tmp}".
func makeRepositories(t *testing.T) string {
	t.Helper()
	tmp := e2e.Must(filepath.EvalSymlinks(t.TempDir()))(t)
	at := func(name string) string { return filepath.Join(tmp, name) }

	first := files{"crossplane.yaml": text("name: {}\n"), "a/b.txt": text("B\n"), "run.sh": program("#!/bin/sh\n")}
	plain := newRepository(t, at("plain"))
	plain.commit(t, "first", first)
	first["link"], first["abs-link"], first["esc-link"] = link("a/b.txt"), link("/etc/hostname"), link("../../outside")
	plain.commit(t, "links", first)
	e2e.NoError(t, os.CopyFS(at("bare.git"), os.DirFS(at("plain/.git"))))

	for name, content := range map[string]files{
		"notes":   {"NOTES.txt": text("Authored notes, line one.\nLine two without end"), "f": text("x\n")},
		"script":  {"init.sh": program(initScript), "f": text("x\n")},
		"both":    {"NOTES.txt": text("Read me first.\n"), "init.sh": program(initScript), "f": text("x\n")},
		"noexec":  {"init.sh": text(initScript)},
		"failing": {"init.sh": program("#!/bin/sh\necho about to fail\nexit 7\n")},
		"dirs":    {"NOTES.txt/x": text("1"), "f": text("x")},
		"sdir":    {"init.sh/x": text("1"), "f": text("x")},
	} {
		newRepository(t, at(name)).commit(t, "first", content)
	}
	makeRefs(t, at("refs"))
	newRepository(t, at("emptyrepo"))
	writeFile(t, at("notgit/f"), "x", 0o644)
	return tmp
}

func makeRefs(t *testing.T, dir string) {
	t.Helper()
	r := newRepository(t, dir)
	main := r.commit(t, "first", files{"v": text("main\n")})
	feature := r.put(t, r.object(files{"v": text("feature\n")}.tree(t, r), "feat", main))
	second := r.commit(t, "second", files{"v": text("main2\n")})
	e2e.NoError(t, e2e.Err(r.CreateTag("annot1", main, &git.CreateTagOptions{Tagger: &gold, Message: "annotated\n"})))
	for name, hash := range map[plumbing.ReferenceName]plumbing.Hash{
		"refs/tags/light1": main, "refs/tags/same": main, "refs/tags/v1.2.3": feature,
		"refs/heads/dev/feature": feature, "refs/heads/same": second,
	} {
		e2e.NoError(t, r.Storer.SetReference(plumbing.NewHashReference(name, hash)))
	}
}

// A repository is filled object by object, because the work tree of go-git
// corrects invalid links and names.
type repository struct{ *git.Repository }

func newRepository(t *testing.T, dir string) repository {
	t.Helper()
	repo := e2e.Must(git.PlainInitWithOptions(dir, &git.PlainInitOptions{InitOptions: git.InitOptions{DefaultBranch: "refs/heads/main"}}))(t)
	return repository{repo}
}

var gold = object.Signature{Name: "Gold", Email: "g@gold.test", When: time.Date(2024, 3, 5, 6, 7, 8, 0, time.UTC)}

// commit writes content as the next commit of main.
func (r repository) commit(t *testing.T, message string, content files) plumbing.Hash {
	t.Helper()
	return r.commitTree(t, message, content.tree(t, r))
}

func (r repository) commitTree(t *testing.T, message string, tree plumbing.Hash) plumbing.Hash {
	t.Helper()
	var parents []plumbing.Hash
	if head, err := r.Head(); err == nil {
		parents = append(parents, head.Hash())
	}
	hash := r.put(t, r.object(tree, message, parents...))
	e2e.NoError(t, r.Storer.SetReference(plumbing.NewHashReference("refs/heads/main", hash)))
	return hash
}

func (repository) object(tree plumbing.Hash, message string, parents ...plumbing.Hash) *object.Commit {
	return &object.Commit{Author: gold, Committer: gold, Message: message + "\n", TreeHash: tree, ParentHashes: parents}
}

func (r repository) put(t *testing.T, o object.Object) plumbing.Hash {
	t.Helper()
	encoded := r.Storer.NewEncodedObject()
	e2e.NoError(t, o.Encode(encoded))
	return e2e.Must(r.Storer.SetEncodedObject(encoded))(t)
}

// raw stores an object of any content.
func (r repository) raw(t *testing.T, kind plumbing.ObjectType, content []byte) plumbing.Hash {
	t.Helper()
	encoded := r.Storer.NewEncodedObject()
	encoded.SetType(kind)
	w, err := encoded.Writer()
	e2e.NoError(t, err)
	_, err = w.Write(content)
	e2e.NoError(t, err)
	e2e.NoError(t, w.Close())
	return e2e.Must(r.Storer.SetEncodedObject(encoded))(t)
}

// An entry is an entry of a git tree: the object with hash, or a blob of content if hash
// is zero.
type entry struct {
	mode    filemode.FileMode
	content string
	hash    plumbing.Hash
}

func text(s string) entry    { return entry{mode: filemode.Regular, content: s} }
func program(s string) entry { return entry{mode: filemode.Executable, content: s} }
func link(to string) entry   { return entry{mode: filemode.Symlink, content: to} }

// files are entries by their paths.
type files map[string]entry

// tree writes f and returns its root tree.
func (f files) tree(t *testing.T, r repository) plumbing.Hash {
	t.Helper()
	below := map[string]files{}
	var tree object.Tree
	for name, e := range f {
		if dir, rest, nested := strings.Cut(name, "/"); nested {
			if below[dir] == nil {
				below[dir] = files{}
			}
			below[dir][rest] = e
			continue
		}
		if e.hash.IsZero() {
			e.hash = r.raw(t, plumbing.BlobObject, []byte(e.content))
		}
		tree.Entries = append(tree.Entries, object.TreeEntry{Name: name, Mode: e.mode, Hash: e.hash})
	}
	for _, dir := range slices.Sorted(maps.Keys(below)) {
		tree.Entries = append(tree.Entries, object.TreeEntry{Name: dir, Mode: filemode.Dir, Hash: below[dir].tree(t, r)})
	}
	slices.SortFunc(tree.Entries, func(a, b object.TreeEntry) int { return strings.Compare(sortName(a), sortName(b)) })
	return r.put(t, &tree)
}

// sortName returns the name by which git sorts a tree.
func sortName(e object.TreeEntry) string {
	if e.Mode == filemode.Dir {
		return e.Name + "/"
	}
	return e.Name
}

func writeFile(t *testing.T, path, content string, mode os.FileMode) string {
	t.Helper()
	e2e.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	e2e.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	e2e.NoError(t, os.Chmod(path, mode))
	return path
}
