package scaffold_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	scaffold "github.com/xfn-dev/xfn/init"

	"github.com/xfn-dev/xfn/internal/e2e"
)

// An item is an entry of a tree that git never writes.
type item struct {
	mode filemode.FileMode
	name string
	hash plumbing.Hash
}

func (r repository) rawTree(t *testing.T, items ...item) plumbing.Hash {
	t.Helper()
	var b bytes.Buffer
	for _, i := range items {
		fmt.Fprintf(&b, "%o %s\x00%s", uint32(i.mode), i.name, i.hash[:])
	}
	return r.raw(t, plumbing.TreeObject, b.Bytes())
}

func TestHostileTrees(t *testing.T) {
	r := newRepository(t, filepath.Join(t.TempDir(), "r"))
	outside := t.TempDir()
	evil := r.raw(t, plumbing.BlobObject, []byte("evil"))
	away := r.raw(t, plumbing.BlobObject, []byte(outside))
	absent := plumbing.NewHash(strings.Repeat("ab", 20))
	folder := r.rawTree(t, item{filemode.Regular, "f", evil})
	file := func(name string) []item { return []item{{filemode.Regular, name, evil}} }
	inside := func(name string) []item {
		return []item{{filemode.Dir, "sub", r.rawTree(t, item{filemode.Dir, name, folder})}}
	}
	long := r.raw(t, plumbing.BlobObject, bytes.Repeat([]byte("x"), 4097))
	cases := map[string]struct {
		reason string
		tree   []item
		err    string
	}{
		"Parent":        {"a name of two dots is refused", file(".."), `".." is not a file name`},
		"ParentFolder":  {"a folder named with two dots is refused", []item{{filemode.Dir, "..", folder}}, `".." is not a file name`},
		"Self":          {"a name of one dot is refused", inside("."), `"." is not a file name`},
		"Slash":         {"a relative path is not a file name", file("../f"), `"../f" is not a file name`},
		"Absolute":      {"an absolute path is not a file name", file("/tmp/f"), `"/tmp/f" is not a file name`},
		"Backslash":     {"a path of Windows is not a file name", file(`..\f`), `is not a file name`},
		"Git":           {"a .git folder could have hooks", []item{{filemode.Dir, ".git", folder}}, `can be .git on some file systems`},
		"GitFile":       {"a .git file could point to hooks", file(".git"), `can be .git on some file systems`},
		"GitInside":     {"a .git folder in another folder is refused", inside(".git"), `can be .git on some file systems`},
		"GitUpper":      {"some file systems ignore case", inside(".GIT"), `can be .git on some file systems`},
		"GitDot":        {"NTFS ignores dots at the end", file(".Git."), `can be .git on some file systems`},
		"GitSpace":      {"NTFS ignores spaces at the end", file(".git . "), `can be .git on some file systems`},
		"GitShort":      {"NTFS has short names", file("GIT~1"), `can be .git on some file systems`},
		"GitStream":     {"NTFS has streams", file(".git::$INDEX_ALLOCATION"), `can be .git on some file systems`},
		"GitInvisible":  {"HFS+ ignores some runes", file(".g\u200cit"), `can be .git on some file systems`},
		"LinkAndFolder": {"a link and a folder of one name would write through the link", []item{{filemode.Symlink, "d", away}, {filemode.Dir, "d", folder}}, `contains "d" twice`},
		"FolderAndLink": {"the order of a link and a folder of one name does not matter", []item{{filemode.Dir, "d", folder}, {filemode.Symlink, "d", away}}, `contains "d" twice`},
		"LinkAndFile":   {"a link and a file of one name are refused", []item{{filemode.Symlink, "d", away}, {filemode.Regular, "d", evil}}, `contains "d" twice`},
		"LongLink":      {"the target of a link is limited as paths are", []item{{filemode.Symlink, "d", long}}, `longer than the 4096 bytes`},
		"NoBlob":        {"the blob of a file is missing", []item{{filemode.Regular, "ok", evil}, {filemode.Regular, "x", absent}}, `reading "x"`},
		"NoTree":        {"the tree of a folder is missing", []item{{filemode.Regular, "ok", evil}, {filemode.Dir, "x", absent}}, `reading folder "x"`},
		"TreeAsFile":    {"a tree cannot have the mode of a file", []item{{filemode.Regular, "ok", evil}, {filemode.Regular, "x", folder}}, `reading "x"`},
		"BlobAsTree":    {"a blob cannot have the mode of a folder", []item{{filemode.Dir, "x", evil}}, `reading folder "x"`},
		"LongName":      {"file systems refuse a name of 300 bytes", []item{{filemode.Regular, "ok", evil}, {filemode.Regular, strings.Repeat("n", 300), evil}}, `writing template`},
		"LongPath":      {"operating systems refuse a path of 5000 bytes", file(strings.Repeat("n", 5000)), `longer than the 4096 bytes`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r.commitTree(t, name, r.rawTree(t, tc.tree...))
			root := t.TempDir()
			_, err := scaffold.Init(t.Context(), scaffold.Options{Template: path(t, r), Dir: filepath.Join(root, "a/out")})
			e2e.WantError(t, tc.reason, err, tc.err)
			for _, dir := range []string{root, outside} {
				e2e.Equal(t, tc.reason, map[string]string{}, contents(t, dir))
			}
		})
	}
}

// On file systems that ignore case, link D and folder d have the same name, and Init
// returns fs.ErrExist. On other file systems Init succeeds.
func TestLinkAndFolderOfTwoCases(t *testing.T) {
	r := newRepository(t, filepath.Join(t.TempDir(), "r"))
	outside := t.TempDir()
	away := r.raw(t, plumbing.BlobObject, []byte(outside))
	evil := r.raw(t, plumbing.BlobObject, []byte("evil"))
	r.commitTree(t, "first", r.rawTree(t, item{filemode.Symlink, "D", away}, item{filemode.Dir, "d", r.rawTree(t, item{filemode.Regular, "f", evil})}))
	_, err := scaffold.Init(t.Context(), scaffold.Options{Template: path(t, r), Dir: filepath.Join(t.TempDir(), "out")})
	if err != nil && !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	e2e.Equal(t, "nothing is written through a link", map[string]string{}, contents(t, outside))
}

func TestBounds(t *testing.T) {
	r := newRepository(t, filepath.Join(t.TempDir(), "r"))
	blob := r.raw(t, plumbing.BlobObject, bytes.Repeat([]byte("x"), 1000))
	ten := func(mode filemode.FileMode, hash plumbing.Hash) plumbing.Hash {
		var items []item
		for i := range 10 {
			items = append(items, item{mode, fmt.Sprint(i), hash})
		}
		return r.rawTree(t, items...)
	}
	flat := ten(filemode.Regular, blob)
	bomb, well := flat, flat
	for range 8 {
		bomb = ten(filemode.Dir, bomb)
	}
	for range 200 {
		well = r.rawTree(t, item{filemode.Dir, "d", well})
	}
	cases := map[string]struct {
		reason string
		tree   plumbing.Hash
		files  int
		bytes  int64
		err    string
	}{
		"Fits":       {"the limits are inclusive", flat, 10, 10_000, ""},
		"Files":      {"one file above the limit is refused", flat, 9, 0, "more than the 9 files"},
		"Bytes":      {"one byte above the limit is refused", flat, 0, 9999, "larger than the 9999 bytes"},
		"Bomb":       {"a few objects expand to a billion files", bomb, 2000, 1 << 50, "more than the 2000 files"},
		"BombOfSize": {"shared blobs count each time that they are written", ten(filemode.Dir, ten(filemode.Dir, flat)), 0, 100_000, "larger than the 100000 bytes"},
		"Well":       {"deeply nested folders are refused", well, 0, 0, "deeper than 128 folders"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r.commitTree(t, name, tc.tree)
			dir := filepath.Join(t.TempDir(), "out")
			_, err := scaffold.Init(t.Context(), scaffold.Options{Template: path(t, r), Dir: dir, MaxFiles: tc.files, MaxBytes: tc.bytes})
			e2e.WantError(t, tc.reason, err, tc.err)
			if _, err := os.Lstat(dir); (err == nil) != (tc.err == "") {
				t.Errorf("%s: the directory: %v", tc.reason, err)
			}
		})
	}
}

// FuzzTree reads any bytes as a tree. No file may be written outside of the
// directory, and no file at all after an error.
func FuzzTree(f *testing.F) {
	hash := plumbing.ComputeHash(plumbing.BlobObject, []byte("x"))
	for _, name := range []string{"f", "..", ".git", "a/b", "a\\b", "\n"} {
		for _, mode := range []string{"100644", "100755", "120000", "160000", "40000", "0", "777777777777", "x"} {
			f.Add([]byte(mode + " " + name + "\x00" + string(hash[:])))
		}
	}
	f.Fuzz(func(t *testing.T, tree []byte) {
		r := newRepository(t, filepath.Join(t.TempDir(), "r"))
		r.raw(t, plumbing.BlobObject, []byte("x"))
		r.commitTree(t, "first", r.raw(t, plumbing.TreeObject, tree))
		root := t.TempDir()
		_, err := scaffold.Init(t.Context(), scaffold.Options{Template: path(t, r), Dir: filepath.Join(root, "a/out")})
		for name := range contents(t, root) {
			if name != "a/" && !strings.HasPrefix(name, "a/out/") || err != nil {
				t.Errorf("%q should not be there (error: %v)", name, err)
			}
			if strings.EqualFold(filepath.Base(name), ".git") {
				t.Errorf("%q was made", name)
			}
		}
	})
}
