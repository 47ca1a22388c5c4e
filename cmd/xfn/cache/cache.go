package cache

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/alecthomas/kong"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/image/rootfs"
	"github.com/xfn-dev/xfn/internal/language"
	"github.com/xfn-dev/xfn/internal/language/golang"
	"github.com/xfn-dev/xfn/internal/language/python"
	"github.com/xfn-dev/xfn/internal/language/typescript"
	"github.com/xfn-dev/xfn/internal/language/typescript/npm"
)

// Cmd is the command group xfn cache.
type Cmd struct {
	Info  InfoCmd  `cmd:"" help:"Show the content of the cache."`
	Prune PruneCmd `cmd:"" help:"Remove unneeded files from the cache."`
}

// Help is shown by --help.
func (Cmd) Help() string {
	return `The cache has the images of pulled functions, and the packages of npm and Python that builds use, so that the next render or build needs no network. It also has the programs of functions in Go, which are compiled again only after a change.

Example:

    xfn cache prune --older-than 30d
`
}

// A store is a part of the cache, such as "images", with its own files.
type store struct {
	name  string
	info  func(ctx context.Context, dir string) (content, error)
	prune func(ctx context.Context, dir string, o old) (content, error)
}

func stores() []store {
	return []store{
		{
			"images",
			func(ctx context.Context, dir string) (content, error) {
				return images(dir, func(s *image.Store) (image.Info, error) { return s.Info(ctx) })
			},
			func(ctx context.Context, dir string, o old) (content, error) {
				return images(dir, func(s *image.Store) (image.Info, error) { return s.Prune(ctx, o.before, o.dry) })
			},
		},
		folderStore(language.Cache{Name: image.BuildsFolder, Folders: []string{"."}, Noun: "built image"}),
		{
			"roots", // unpacked images, which can be unpacked again from cached images
			func(ctx context.Context, dir string) (content, error) { return roots(rootfs.Used(ctx, dir)) },
			func(ctx context.Context, dir string, o old) (content, error) {
				return roots(rootfs.Prune(ctx, dir, o.before, o.dry))
			},
		},
		folderStore(golang.Cache()), folderStore(npm.Cache()), folderStore(python.Cache()), folderStore(typescript.Cache()),
	}
}

// old selects the entries of a store to prune: those that were last used before a time.
type old struct {
	before time.Time
	dry    bool
}

// content counts the files of a store, or the files that a prune removed from it.
type content struct {
	Store string `json:"store"`
	// Files is the number of files, unpacked images or packages, and Bytes their total size.
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"`
	// Leftovers is the number of unfinished files.
	Leftovers     int         `json:"leftovers"`
	LeftoverBytes int64       `json:"leftoverBytes"`
	Entries       []image.Ref `json:"entries"`
	// noun names the things that Files counts. Empty means "file".
	noun string
}

// existing returns the directory of the cache. If the command line names a directory, it must be a
// cache or empty: otherwise opening the cache would create folders in a directory with a misspelled
// name, and pruning would remove its files. A directory in an environment variable may be new, as in
// the first run of a CI job.
func existing(c flags.Cache, kctx *kong.Context) (string, error) {
	dir, err := c.Path()
	if err != nil || !flags.IsGiven(kctx, "cache-dir") {
		return dir, err
	}
	entries, err := os.ReadDir(dir)
	isOther := func(e fs.DirEntry) bool {
		return !slices.ContainsFunc(stores(), func(s store) bool { return s.name == e.Name() })
	}
	if err == nil && !image.IsStore(dir) && slices.ContainsFunc(entries, isOther) {
		err = errors.New("the directory is not a cache")
	}
	err = terminal.Wrap(fsx.Cause(err), "reading the cache %q", dir)
	return dir, hint.Wrap(err, "name the directory that other commands use as --cache-dir, or leave the flag out")
}

// contents calls the function of for each store, and returns the results.
func contents(of func(store) (content, error)) ([]content, error) {
	var all []content
	for _, s := range stores() {
		c, err := of(s)
		if err != nil {
			return nil, err
		}
		c.Store, c.Entries = s.name, append([]image.Ref{}, c.Entries...) // JSON has [], not null.
		all = append(all, c)
	}
	return all, nil
}

// images calls do with the images in a cache, and returns its results.
func images(dir string, do func(*image.Store) (image.Info, error)) (_ content, err error) {
	s, err := image.Open(dir)
	if err != nil {
		return content{}, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	info, err := do(s)
	return content{Files: info.Blobs, Bytes: info.Bytes, Leftovers: info.Leftovers, LeftoverBytes: info.LeftoverBytes, Entries: info.Refs}, err
}

func roots(u rootfs.Usage, err error) (content, error) {
	return content{Files: u.Roots, Bytes: u.Bytes, noun: "unpacked image"}, err
}

// folderStore returns a store whose entries are files or folders with the time of their last use.
func folderStore(c language.Cache) store {
	counted := func(u language.Usage, err error) (content, error) {
		return content{Files: u.Entries, Bytes: u.Bytes, noun: c.Noun}, err
	}
	return store{
		c.Name,
		func(ctx context.Context, dir string) (content, error) { return counted(c.Used(ctx, dir)) },
		func(ctx context.Context, dir string, o old) (content, error) {
			return counted(c.Prune(ctx, dir, o.before, o.dry))
		},
	}
}
