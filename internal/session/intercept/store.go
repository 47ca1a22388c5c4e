package intercept

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"

	"github.com/xfn-dev/xfn/internal/composition/reconciler"
	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/proc"
)

// entryName matches the name of a file that contains a cached response.
var entryName = proc.Regexp(`^[0-9a-f]{64}\.response$`)

// abandoned is the age after which a temporary file must have been left by a
// killed process.
const abandoned = time.Hour

func pathOf(dir string, k key) string {
	return filepath.Join(dir, hex.EncodeToString(k[:])+".response")
}

// read returns the cached response in the file at path, or the zero entry if
// there is none. It removes an invalid file. If another process replaces the
// invalid file at the same time, the new file is removed.
func read(path string, k key) (entry, error) {
	b, err := readFile(path, maxFile+1)
	if errors.Is(err, fs.ErrNotExist) {
		return entry{}, nil
	}
	if err != nil {
		return entry{}, err
	}
	e, ok := parse(k, b)
	if !ok {
		return entry{}, remove(path)
	}
	return e, nil
}

// readFile returns at most the first most bytes of a file. It returns nothing
// if the file is not a regular file.
func readFile(path string, most int64) (b []byte, err error) {
	info, err := os.Lstat(path)
	if err == nil && info.Mode().IsRegular() {
		var f *os.File
		if f, err = os.Open(path); err == nil {
			defer f.Close()
			b, err = io.ReadAll(io.LimitReader(f, most))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("reading %q: %w", path, fsx.Cause(err))
	}
	return b, nil
}

func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing %q: %w", path, fsx.Cause(err))
	}
	return nil
}

// PruneCache removes responses in dir that expired before now, invalid files
// with the name of a response, and temporary files of killed processes. It
// returns the number of removed files. A missing dir is not an error. After an
// error it continues with the next file; it returns all errors joined.
func PruneCache(ctx context.Context, dir string, now time.Time) (removed int, err error) {
	files, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("reading folder %q: %w", dir, fsx.Cause(err))
	}
	var errs []error
	for _, f := range files {
		if ctx.Err() != nil {
			return removed, fmt.Errorf("pruning %q: %w", dir, context.Cause(ctx))
		}
		path := filepath.Join(dir, f.Name())
		old, err := stale(path, now)
		if err == nil && old {
			if err = remove(path); err == nil {
				removed++
			}
		}
		errs = append(errs, err)
	}
	return removed, errors.Join(errs...)
}

// stale reports whether PruneCache must remove the file at path.
func stale(path string, now time.Time) (bool, error) {
	name := filepath.Base(path)
	if !entryName().MatchString(name) && !fsx.IsTemporary(name) {
		return false, nil
	}
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("reading %q: %w", path, fsx.Cause(err))
	case fsx.IsTemporary(name):
		return now.Sub(info.ModTime()) > abandoned, nil
	}
	header, err := readFile(path, headerSize)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	k, expires, ok := parseHeader(header, info.Size())
	whole := ok && pathOf(filepath.Dir(path), k) == path
	return !whole || !now.Before(expires), err
}

// A key identifies a cached response. It is a digest of the function's identity and of the
// request. The request itself is not stored, because it contains credentials.
type key [sha256.Size]byte

// keyOf returns the key of a request, ignoring its meta. Another version of the
// protobuf library may produce another key, which only causes a cache miss.
func keyOf(identity string, req *fnv1.RunFunctionRequest) (key, error) {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(reconciler.Without(req, "meta"))
	if err != nil {
		return key{}, fmt.Errorf("encoding a request: %w", err)
	}
	h := sha256.New()
	// The length separates the identity from the encoded request.
	fmt.Fprintf(h, "%s%d %s", magic, len(identity), identity)
	h.Write(b)
	return key(h.Sum(nil)), nil
}

type entry struct {
	response *fnv1.RunFunctionResponse
	expires  time.Time
}

// A cache file contains a header, the response as protobuf, and the SHA-256 of both. The
// header contains magic, the key, the expiry time in nanoseconds since the Unix epoch, and
// the length of the response. The last two are big-endian numbers of 8 bytes.
const (
	magic      = "xfnrsp1\n"
	headerSize = int64(len(magic) + len(key{}) + 8 + 8)
	sumSize    = int64(sha256.Size)
	maxFile    = headerSize + MaxCachedSize + sumSize
)

func encode(k key, e entry) ([]byte, error) {
	rsp, err := proto.Marshal(e.response)
	if err != nil {
		return nil, fmt.Errorf("encoding a response: %w", err)
	}
	b := make([]byte, 0, headerSize+int64(len(rsp))+sumSize)
	b = append(b, magic...)
	b = append(b, k[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(e.expires.UnixNano()))
	b = binary.BigEndian.AppendUint64(b, uint64(len(rsp)))
	b = append(b, rsp...)
	sum := sha256.Sum256(b)
	return append(b, sum[:]...), nil
}

// parseHeader parses the header of a cache file. size is the size of the whole
// file. ok is false if the header is invalid or does not fit that size.
func parseHeader(b []byte, size int64) (k key, expires time.Time, ok bool) {
	if int64(len(b)) < headerSize || !bytes.HasPrefix(b, []byte(magic)) {
		return k, expires, false
	}
	b = b[len(magic):]
	b = b[copy(k[:], b):]
	expires = time.Unix(0, int64(binary.BigEndian.Uint64(b)))
	length := binary.BigEndian.Uint64(b[8:])
	return k, expires, length <= MaxCachedSize && int64(length) == size-headerSize-sumSize
}

// parse returns the entry in the content of a cache file. ok is false if the
// content is incomplete or invalid, or has another key.
func parse(k key, b []byte) (e entry, ok bool) {
	got, expires, ok := parseHeader(b, int64(len(b)))
	if !ok || got != k {
		return entry{}, false
	}
	end := int64(len(b)) - sumSize
	if sum := sha256.Sum256(b[:end]); !bytes.Equal(sum[:], b[end:]) {
		return entry{}, false
	}
	rsp := &fnv1.RunFunctionResponse{}
	if err := proto.Unmarshal(b[headerSize:end], rsp); err != nil || lifetime(rsp) == 0 {
		return entry{}, false
	}
	return entry{response: rsp, expires: expires}, true
}
