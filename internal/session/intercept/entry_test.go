package intercept_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/report"
	"github.com/xfn-dev/xfn/internal/session/intercept"
)

// entryPath calls function "fn" with request(1, "") through the cache r, and
// returns the path of the file with the cached response.
func entryPath(t testing.TB, r function.Runner, dir string) string {
	t.Helper()
	call(t, r, "fn", request(1, ""))
	files, err := filepath.Glob(filepath.Join(dir, "*.response"))
	if err != nil || len(files) != 1 {
		t.Fatalf("got files %q, %v", files, err)
	}
	return files[0]
}

// file returns the content of a complete cache file, in the format that
// store.go describes. The key is in the name of the file at path.
func file(t testing.TB, path string, expires int64, response []byte) []byte {
	t.Helper()
	key := e2e.Must(hex.DecodeString(strings.TrimSuffix(filepath.Base(path), ".response")))(t)
	b := append([]byte("xfnrsp1\n"), key...)
	b = binary.BigEndian.AppendUint64(b, uint64(expires))
	b = binary.BigEndian.AppendUint64(b, uint64(len(response)))
	b = append(b, response...)
	sum := sha256.Sum256(b)
	return append(b, sum[:]...)
}

func marshal(t testing.TB, rsp *fnv1.RunFunctionResponse) []byte {
	t.Helper()
	return e2e.Must(proto.MarshalOptions{Deterministic: true}.Marshal(rsp))(t)
}

// TestReading: the cache uses or ignores a file, depending on its content.
func TestReading(t *testing.T) {
	fatal := &fnv1.RunFunctionResponse{Meta: answer(nil, time.Hour).GetMeta(), Results: []*fnv1.Result{{Severity: fnv1.Severity_SEVERITY_FATAL}}}
	hour := noon.Add(time.Hour).UnixNano()
	cases := map[string]struct {
		reason  string
		spoil   func(t *testing.T, path string, good []byte) []byte
		wantHit bool
	}{
		"Good": {"a cached response is used", func(_ *testing.T, _ string, b []byte) []byte { return b }, true},
		"Format": {"the format is as documented", func(t *testing.T, p string, _ []byte) []byte {
			return file(t, p, hour, marshal(t, answer(request(1, ""), time.Hour)))
		}, true},
		"Empty":      {"an empty file, as a full disk leaves it, is ignored", func(*testing.T, string, []byte) []byte { return nil }, false},
		"Short":      {"a file that ends in the header is ignored", func(_ *testing.T, _ string, b []byte) []byte { return b[:len(b)-1] }, false},
		"HeaderOnly": {"a file that ends after the header is ignored", func(_ *testing.T, _ string, b []byte) []byte { return b[:56] }, false},
		"Long":       {"a file with trailing bytes is ignored", func(_ *testing.T, _ string, b []byte) []byte { return append(b, 0) }, false},
		"Bit":        {"a file with a changed bit is ignored", func(_ *testing.T, _ string, b []byte) []byte { b[60] ^= 1; return b }, false},
		"Expiry":     {"the checksum includes the expiry", func(_ *testing.T, _ string, b []byte) []byte { b[47] ^= 1; return b }, false},
		"Version":    {"a file of another format version is ignored", func(_ *testing.T, _ string, b []byte) []byte { b[6] = '2'; return b }, false},
		"Foreign":    {"a file of another program is ignored", func(*testing.T, string, []byte) []byte { return []byte("hello") }, false},
		"OtherKey": {"a response to another request is ignored", func(t *testing.T, _ string, _ []byte) []byte {
			return file(t, strings.Repeat("00", 32), hour, marshal(t, answer(request(1, ""), time.Hour)))
		}, false},
		"NoProtobuf": {"an invalid response with a valid checksum is ignored", func(t *testing.T, p string, _ []byte) []byte { return file(t, p, hour, []byte{0xff}) }, false},
		"NoTTL":      {"a response that must not be cached is ignored", func(t *testing.T, p string, _ []byte) []byte { return file(t, p, hour, nil) }, false},
		"Fatal":      {"a fatal response is ignored", func(t *testing.T, p string, _ []byte) []byte { return file(t, p, hour, marshal(t, fatal)) }, false},
		"Over": {"an expired response is ignored", func(t *testing.T, p string, _ []byte) []byte {
			return file(t, p, math.MinInt64, marshal(t, answer(request(1, ""), time.Hour)))
		}, false},
		"HostileLength": {"a wrong length is ignored", func(_ *testing.T, _ string, b []byte) []byte { copy(b[48:], bytes.Repeat([]byte{0xff}, 8)); return b }, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := entryPath(t, intercept.Cache(echo(time.Hour), options(t, dir)), dir)
			good := []byte(e2e.ReadFile(t, path))
			e2e.WriteFile(t, path, string(tc.spoil(t, path, good)))
			checkUse(t, tc.reason, dir, tc.wantHit)
			if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) == tc.wantHit {
				t.Errorf("%s: the file: %v", tc.reason, err)
			}
		})
	}
}

// checkUse calls function "fn" with request(1, "") and checks whether the cache
// has the response. The call adds no response to the cache.
func checkUse(t *testing.T, reason, dir string, wantHit bool) {
	t.Helper()
	calls := report.Record(echo(0), time.Now)
	call(t, intercept.Cache(calls, options(t, dir)), "fn", request(1, ""))
	e2e.Equal(t, reason+": a hit", wantHit, len(calls.Calls()) == 0)
}

// TestIrregularFiles: the cache opens and writes only regular files.
func TestIrregularFiles(t *testing.T) {
	cases := map[string]struct {
		reason string
		put    func(path, outside string) error
	}{
		"Link":     {"a link to a valid response is not followed", func(path, outside string) error { return os.Symlink(outside, path) }},
		"Folder":   {"an empty folder blocks a response", func(path, _ string) error { return os.Mkdir(path, 0o700) }},
		"DeadLink": {"a dangling link is not followed", func(path, _ string) error { return os.Symlink("nothing", path) }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "outside")
			r := intercept.Cache(echo(time.Hour), options(t, dir))
			path := entryPath(t, r, dir)
			e2e.NoError(t, os.Rename(path, outside))
			before := e2e.ReadFile(t, outside)
			if err := tc.put(path, outside); err != nil {
				t.Skipf("the system cannot create it: %v", err)
			}
			checkUse(t, tc.reason, dir, false)
			e2e.Equal(t, tc.reason, path, entryPath(t, r, dir))
			if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
				t.Errorf("%s: the response is not cached: %v, %v", tc.reason, info, err)
			}
			e2e.Equal(t, tc.reason+": the file outside", before, e2e.ReadFile(t, outside))
		})
	}
}

func TestPrune(t *testing.T) {
	key := func(c string) string { return strings.Repeat(c, 64) }
	cases := map[string]struct {
		reason, name string
		content      func(path string) []byte
		age          time.Duration
		wantRemoved  bool
	}{
		"Good":    {"a valid response is kept", key("a") + ".response", func(p string) []byte { return file(t, p, noon.UnixNano()+1, []byte("x")) }, 0, false},
		"Over":    {"an expired response is removed", key("a") + ".response", func(p string) []byte { return file(t, p, noon.UnixNano(), []byte("x")) }, 0, true},
		"Damaged": {"an incomplete response is removed", key("a") + ".response", func(p string) []byte { return file(t, p, noon.UnixNano()+1, []byte("x"))[:57] }, 0, true},
		"Overflow": {"a length that overflows is invalid", key("a") + ".response", func(p string) []byte {
			b := file(t, p, noon.UnixNano()+1, nil)[:56]
			binary.BigEndian.PutUint64(b[48:], math.MaxUint64-31) // -32 as an unsigned number
			return b
		}, 0, true},
		"Foreign":    {"an invalid file with the name of a response is removed", key("a") + ".response", func(string) []byte { return []byte("hello") }, 0, true},
		"Misnamed":   {"a response with another name is removed", key("a") + ".response", func(string) []byte { return file(t, key("b"), noon.UnixNano()+1, []byte("x")) }, 0, true},
		"Other":      {"other files are kept", "notes.txt", func(string) []byte { return nil }, 48 * time.Hour, false},
		"OtherTemp":  {"other files that look like temporary ones are kept", ".notes.txt.123.tmp", func(string) []byte { return nil }, 48 * time.Hour, false},
		"ShortName":  {"temporary files without a whole key are kept", key("a")[1:] + ".response", func(string) []byte { return nil }, 48 * time.Hour, false},
		"NewHalf":    {"a recent temporary file is kept", ".xfn-" + strings.Repeat("a", 26) + ".tmp", func(string) []byte { return nil }, time.Hour, false},
		"OldHalf":    {"an old temporary file is removed", ".xfn-" + strings.Repeat("a", 26) + ".tmp", func(string) []byte { return nil }, time.Hour + time.Second, true},
		"FutureHalf": {"a clock that is ahead does not make a temporary file old", ".xfn-" + strings.Repeat("a", 26) + ".tmp", func(string) []byte { return nil }, -48 * time.Hour, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), tc.name)
			e2e.WriteFile(t, path, string(tc.content(path)))
			e2e.NoError(t, os.Chtimes(path, noon.Add(-tc.age), noon.Add(-tc.age)))
			removed := e2e.Must(intercept.PruneCache(t.Context(), filepath.Dir(path), noon))(t)
			if gone := len(e2e.Names(t, filepath.Dir(path))) == 0; gone != tc.wantRemoved || removed == 1 != tc.wantRemoved {
				t.Errorf("%s: the file is removed: %t, with %d removed files", tc.reason, gone, removed)
			}
		})
	}
}

func TestPruneOtherFolders(t *testing.T) {
	dir := t.TempDir()
	e2e.Equal(t, "a missing folder has nothing to remove", 0, e2e.Must(intercept.PruneCache(t.Context(), filepath.Join(dir, "absent"), noon))(t))
	e2e.WriteFile(t, filepath.Join(dir, "f"), "x")
	e2e.Error(t, "a file is not a folder", e2e.Err(intercept.PruneCache(t.Context(), filepath.Join(dir, "f"), noon)))
	// os.Remove fails for a folder that is not empty. PruneCache must still remove
	// the other files.
	full := filepath.Join(dir, strings.Repeat("a", 64)+".response")
	e2e.NoError(t, os.MkdirAll(filepath.Join(full, "x"), 0o700))
	e2e.WriteFile(t, filepath.Join(dir, strings.Repeat("b", 64)+".response"), "x")
	if n, err := intercept.PruneCache(t.Context(), dir, noon); n != 1 || err == nil || !strings.Contains(err.Error(), full) {
		t.Errorf("got %d, %v", n, err)
	}
}

// FuzzEntry reads arbitrary bytes as a cache file, and as the response in a
// complete cache file.
func FuzzEntry(f *testing.F) {
	dir := f.TempDir()
	path := entryPath(f, intercept.Cache(echo(time.Hour), intercept.CacheOptions{Dir: dir, Identity: byName, Now: time.Now}), dir)
	good := []byte(e2e.ReadFile(f, path))
	f.Add(good, false, int64(0))
	f.Add(good[:60], false, int64(0))
	f.Add(marshal(f, answer(request(1, ""), time.Hour)), true, noon.UnixNano()+1)
	f.Add([]byte{}, true, int64(math.MaxInt64))
	f.Fuzz(func(t *testing.T, data []byte, whole bool, expires int64) {
		dir := t.TempDir()
		path := filepath.Join(dir, filepath.Base(path))
		if whole {
			data = file(t, path, expires, data)
		}
		e2e.WriteFile(t, path, string(data))
		calls := report.Record(echo(0), time.Now)
		rsp := call(t, intercept.Cache(calls, options(t, dir)), "fn", request(1, "tag"))
		e2e.Equal(t, "the response is that of the function, whatever the file has", "tag", rsp.GetMeta().GetTag())
		if hit := len(calls.Calls()) == 0; hit && rsp.GetMeta().GetTtl().AsDuration() <= 0 {
			t.Errorf("a response without a TTL was used: %v", rsp)
		}
		e2e.NoError(t, e2e.Err(intercept.PruneCache(t.Context(), dir, noon)))
	})
}
