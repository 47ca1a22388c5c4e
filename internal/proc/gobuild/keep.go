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

// A keeper has the program of an earlier Build of the same folder for the same target. It
// locks the program until close.
type keeper struct {
	dir  string
	lock *os.File
}

// openKeeper returns the keeper for opts in the folder opts.Kept. It returns nil if there is
// none: another Build uses it now, or other users could change the program.
func openKeeper(opts Options) *keeper {
	dir, err := filepath.Abs(opts.Dir)
	if err != nil || opts.Kept == "" {
		return nil
	}
	key := sha256.Sum256(fmt.Appendf(nil, "%q", append([]string{dir, opts.GOOS, opts.GOARCH, opts.Variant, opts.LDFlags}, opts.Flags...)))
	k := &keeper{dir: filepath.Join(opts.Kept, hex.EncodeToString(key[:16]))}
	if err := os.MkdirAll(k.dir, 0o700); err != nil {
		return nil
	}
	if info, err := os.Lstat(k.dir); err != nil || !fsx.IsPrivate(info) || !fsx.IsTrusted(filepath.Dir(k.dir)) {
		return nil
	}
	if k.lock, err = os.OpenFile(filepath.Join(k.dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil
	}
	locked, err := fsx.TryLock(k.lock, fsx.ExclusiveLock)
	if err != nil || !locked {
		k.close()
		return nil
	}
	return k
}

func (k *keeper) close() { _ = k.lock.Close() }

func (k *keeper) program() string { return filepath.Join(k.dir, "program") }

// recordFile has the digest of what the program was built from, and the program's size.
func (k *keeper) recordFile() string { return filepath.Join(k.dir, "source") }

// update calls build unless the program is that of the current source. digest returns the
// digest of the source, or "" if only the go command can find out what a program consists of.
// ok is false if the folder cannot be used.
func (k *keeper) update(digest func() string, build func(out string) error) (ok bool, err error) {
	// A Build that was killed may have left its work.
	if os.RemoveAll(k.program()+workSuffix) != nil || fsx.Touch(k.dir) != nil {
		return false, nil
	}
	source := digest()
	recorded, err := os.ReadFile(k.recordFile())
	whole := err == nil && strings.HasSuffix(string(recorded), k.size())
	if whole && source != "" && string(recorded) == source+k.size() {
		return true, nil
	}
	stale := []string{k.recordFile()}
	if !whole { // the go command refuses to replace a file that is not a program
		stale = append(stale, k.program())
	}
	for _, path := range stale {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
	}
	if err := build(k.program()); err != nil {
		return true, err
	}
	// The go command may have read files that changed after the first digest.
	if source != digest() {
		source = ""
	}
	_ = fsx.WriteCached(k.recordFile(), 0o600, []byte(source+k.size())) // without it, the next Build links again
	return true, nil
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
