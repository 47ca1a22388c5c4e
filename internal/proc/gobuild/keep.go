package gobuild

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/xfn-dev/xfn/internal/fsx"
)

// LockFile is the name of a file in each folder of Options.Kept. A process that removes the
// folder must first lock this file.
const LockFile = "lock"

// An entry has the program of the last Build of a folder for a target. It locks the program
// until close.
type entry struct {
	dir  string
	lock *os.File
}

// openEntry returns the entry for opts in the folder opts.Kept. It returns nil if another
// Build uses the folder now, or if other users could change the program.
func openEntry(opts Options) *entry {
	dir, err := filepath.Abs(opts.Dir)
	if err != nil || opts.Kept == "" {
		return nil
	}
	key := sha256.Sum256(fmt.Appendf(nil, "%q", append([]string{dir, opts.GOOS, opts.GOARCH, opts.Variant, opts.LDFlags}, opts.Flags...)))
	e := &entry{dir: filepath.Join(opts.Kept, hex.EncodeToString(key[:16]))}
	if os.MkdirAll(e.dir, 0o700) != nil || !fsx.IsTrusted(filepath.Dir(e.dir)) || !e.open(fsx.ExclusiveLock) {
		return nil
	}
	return e
}

// open locks the program. It returns false if another Build has locked it, if its folder was
// removed, or if other users could change it.
func (e *entry) open(mode fsx.LockMode) bool {
	info, err := os.Lstat(e.dir)
	if err != nil || !fsx.IsPrivate(info) {
		return false
	}
	file := filepath.Join(e.dir, LockFile)
	if e.lock, err = os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return false
	}
	locked, err := fsx.TryLock(e.lock, mode)
	if err != nil || !locked || !fsx.IsAt(e.lock, file) {
		e.close()
		return false
	}
	return true
}

func (e *entry) close() { _ = fsx.Unlock(e.lock) }

func (e *entry) program() string { return filepath.Join(e.dir, "program") }

// recordFile has the digest of the source of the program, and the program's size.
func (e *entry) recordFile() string { return filepath.Join(e.dir, "source") }

// update calls build unless the folder, or another folder of the cache, has the program of the
// current source. digest returns the digest of the source, or "" if only the go command can
// find out from which files a program is built. ok is false if the folder cannot be used.
func (e *entry) update(digest func() string, build func(out string) error) (ok bool, err error) {
	// A Build that was killed may have left its work.
	if os.RemoveAll(e.program()+workSuffix) != nil || fsx.Touch(e.dir) != nil {
		return false, nil
	}
	source := digest()
	if e.has(source) {
		return true, nil
	}
	stale, same := []string{e.recordFile()}, e.findSame(source)
	if same != nil || !e.isWhole() { // the go command refuses to replace a file that is not a program
		stale = append(stale, e.program())
	}
	if same != nil {
		defer same.close()
	}
	for _, path := range stale {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
	}
	if same != nil && os.Link(same.program(), e.program()) == nil {
		e.record(source)
		return true, nil
	}
	if err := build(e.program()); err != nil {
		return true, err
	}
	// The go command may have read files that changed after the first digest.
	if source != digest() {
		source = ""
	}
	e.record(source)
	return true, nil
}

// record stores what the program was built from. Without it, the next Build links again.
func (e *entry) record(source string) {
	_ = fsx.WriteCached(e.recordFile(), 0o600, []byte(source+e.size()))
}

// has reports whether the program was written whole, from a source with this digest.
func (e *entry) has(source string) bool {
	recorded, err := os.ReadFile(e.recordFile())
	return err == nil && source != "" && string(recorded) == source+e.size()
}

func (e *entry) isWhole() bool {
	recorded, err := os.ReadFile(e.recordFile())
	return err == nil && strings.HasSuffix(string(recorded), e.size())
}

// findSame returns another folder of the cache that has the program of a source with this
// digest, as after a checkout in another directory. It returns nil if there is no such
// folder.
func (e *entry) findSame(source string) *entry {
	kept := filepath.Dir(e.dir)
	entries, _ := os.ReadDir(kept)
	for _, d := range entries {
		other := &entry{dir: filepath.Join(kept, d.Name())}
		if other.dir == e.dir || !other.has(source) || !other.open(fsx.SharedLock) {
			continue
		}
		if other.has(source) { // it may have changed before it was locked
			return other
		}
		other.close()
	}
	return nil
}

func (e *entry) size() string {
	info, err := os.Stat(e.program())
	if err != nil {
		return " missing"
	}
	return fmt.Sprintf(" %d", info.Size())
}

// linkTo makes the program available at path. A later Build replaces the program and does not
// change its bytes, so a hard link has the same content for good.
func (e *entry) linkTo(path string) error {
	if os.Link(e.program(), path) == nil {
		return nil
	}
	in, err := os.Open(e.program())
	if err != nil {
		return err
	}
	defer in.Close()
	return fsx.Write(path, 0o755, func(w io.Writer) error {
		_, err := io.Copy(w, in)
		return err
	})
}
