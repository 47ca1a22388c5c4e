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

// A keeper has the program of the last Build of a folder for a target. It locks the program
// until close.
type keeper struct {
	dir  string
	lock *os.File
}

// openKeeper returns the keeper for opts in the folder opts.Kept. It returns nil if another
// Build uses the folder now, or if other users could change the program.
func openKeeper(opts Options) *keeper {
	dir, err := filepath.Abs(opts.Dir)
	if err != nil || opts.Kept == "" {
		return nil
	}
	key := sha256.Sum256(fmt.Appendf(nil, "%q", append([]string{dir, opts.GOOS, opts.GOARCH, opts.Variant, opts.LDFlags}, opts.Flags...)))
	k := &keeper{dir: filepath.Join(opts.Kept, hex.EncodeToString(key[:16]))}
	if os.MkdirAll(k.dir, 0o700) != nil || !fsx.IsTrusted(filepath.Dir(k.dir)) || !k.open(fsx.ExclusiveLock) {
		return nil
	}
	return k
}

// open locks the program. It returns false if another Build has locked it, if its folder was
// removed, or if other users could change it.
func (k *keeper) open(mode fsx.LockMode) bool {
	info, err := os.Lstat(k.dir)
	if err != nil || !fsx.IsPrivate(info) {
		return false
	}
	file := filepath.Join(k.dir, LockFile)
	if k.lock, err = os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return false
	}
	locked, err := fsx.TryLock(k.lock, mode)
	if err != nil || !locked || !fsx.IsAt(k.lock, file) {
		k.close()
		return false
	}
	return true
}

func (k *keeper) close() { _ = fsx.Unlock(k.lock) }

func (k *keeper) program() string { return filepath.Join(k.dir, "program") }

// recordFile has the digest of the source of the program, and the program's size.
func (k *keeper) recordFile() string { return filepath.Join(k.dir, "source") }

// update calls build unless the folder, or another folder of the cache, has the program of the
// current source. digest returns the digest of the source, or "" if only the go command can
// find out from which files a program is built. ok is false if the folder cannot be used.
func (k *keeper) update(digest func() string, build func(out string) error) (ok bool, err error) {
	// A Build that was killed may have left its work.
	if os.RemoveAll(k.program()+workSuffix) != nil || fsx.Touch(k.dir) != nil {
		return false, nil
	}
	source := digest()
	if k.has(source) {
		return true, nil
	}
	stale, same := []string{k.recordFile()}, k.findSame(source)
	if same != nil || !k.isWhole() { // the go command refuses to replace a file that is not a program
		stale = append(stale, k.program())
	}
	if same != nil {
		defer same.close()
	}
	for _, path := range stale {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
	}
	if same != nil && os.Link(same.program(), k.program()) == nil {
		k.record(source)
		return true, nil
	}
	if err := build(k.program()); err != nil {
		return true, err
	}
	// The go command may have read files that changed after the first digest.
	if source != digest() {
		source = ""
	}
	k.record(source)
	return true, nil
}

// record stores what the program was built from. Without it, the next Build links again.
func (k *keeper) record(source string) {
	_ = fsx.WriteCached(k.recordFile(), 0o600, []byte(source+k.size()))
}

// has reports whether the program was written whole, from a source with this digest.
func (k *keeper) has(source string) bool {
	recorded, err := os.ReadFile(k.recordFile())
	return err == nil && source != "" && string(recorded) == source+k.size()
}

// isWhole reports whether the program was written whole.
func (k *keeper) isWhole() bool {
	recorded, err := os.ReadFile(k.recordFile())
	return err == nil && strings.HasSuffix(string(recorded), k.size())
}

// findSame returns another folder of the cache that has the program of a source with this
// digest, as after a checkout in another directory. It returns nil if there is no such
// folder.
func (k *keeper) findSame(source string) *keeper {
	kept := filepath.Dir(k.dir)
	entries, _ := os.ReadDir(kept)
	for _, e := range entries {
		other := &keeper{dir: filepath.Join(kept, e.Name())}
		if other.dir == k.dir || !other.has(source) || !other.open(fsx.SharedLock) {
			continue
		}
		if other.has(source) { // it may have changed before it was locked
			return other
		}
		other.close()
	}
	return nil
}

// size returns the size of the program as text.
func (k *keeper) size() string {
	info, err := os.Stat(k.program())
	if err != nil {
		return " missing"
	}
	return fmt.Sprintf(" %d", info.Size())
}

// give makes the program available at path. A later Build replaces the program and does not
// change its bytes, so a hard link has the same content for good.
func (k *keeper) give(path string) error {
	if os.Link(k.program(), path) == nil {
		return nil
	}
	in, err := os.Open(k.program())
	if err != nil {
		return err
	}
	defer in.Close()
	return fsx.Write(path, 0o755, func(w io.Writer) error {
		_, err := io.Copy(w, in)
		return err
	})
}
