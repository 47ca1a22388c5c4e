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
	"github.com/xfn-dev/xfn/internal/report"
	"github.com/xfn-dev/xfn/internal/session/intercept"
)

// entryPath returns the file of the answer to request(1), after a call for it.
func entryPath(t testing.TB, r function.Runner, dir string) string {
	t.Helper()
	if _, err := r.RunFunction(t.Context(), "fn", request(1, "")); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.response"))
	if err != nil || len(files) != 1 {
		t.Fatalf("got files %q, %v", files, err)
	}
	return files[0]
}

// file makes a whole file of the format that entry.go describes, for the key
// that path says.
func file(t testing.TB, path string, expires int64, response []byte) []byte {
	t.Helper()
	key, err := hex.DecodeString(strings.TrimSuffix(filepath.Base(path), ".response"))
	if err != nil {
		t.Fatal(err)
	}
	b := append([]byte("xfnrsp1\n"), key...)
	b = binary.BigEndian.AppendUint64(b, uint64(expires))
	b = binary.BigEndian.AppendUint64(b, uint64(len(response)))
	b = append(b, response...)
	sum := sha256.Sum256(b)
	return append(b, sum[:]...)
}

func marshal(t testing.TB, rsp *fnv1.RunFunctionResponse) []byte {
	t.Helper()
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(rsp)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The content of an answer's file, and whether it is one that is used.
func TestReading(t *testing.T) {
	fatal := &fnv1.RunFunctionResponse{Meta: answer(nil, time.Hour).GetMeta(), Results: []*fnv1.Result{{Severity: fnv1.Severity_SEVERITY_FATAL}}}
	hour := noon.Add(time.Hour).UnixNano()
	cases := map[string]struct {
		reason  string
		spoil   func(t *testing.T, path string, good []byte) []byte
		wantHit bool
	}{
		"Good": {"what was kept is used", func(_ *testing.T, _ string, b []byte) []byte { return b }, true},
		"Format": {"the format is as described", func(t *testing.T, p string, _ []byte) []byte {
			return file(t, p, hour, marshal(t, answer(request(1, ""), time.Hour)))
		}, true},
		"Empty":      {"an empty file is what a full disk leaves", func(*testing.T, string, []byte) []byte { return nil }, false},
		"Short":      {"a file that ends early is damaged", func(_ *testing.T, _ string, b []byte) []byte { return b[:len(b)-1] }, false},
		"HeaderOnly": {"even after the header", func(_ *testing.T, _ string, b []byte) []byte { return b[:56] }, false},
		"Long":       {"a file that goes on is damaged", func(_ *testing.T, _ string, b []byte) []byte { return append(b, 0) }, false},
		"Bit":        {"one bit is enough", func(_ *testing.T, _ string, b []byte) []byte { b[60] ^= 1; return b }, false},
		"Expiry":     {"the sum is over the expiry, too", func(_ *testing.T, _ string, b []byte) []byte { b[47] ^= 1; return b }, false},
		"Version":    {"another version's format is not known", func(_ *testing.T, _ string, b []byte) []byte { b[6] = '2'; return b }, false},
		"Foreign":    {"another program's file is none of ours", func(*testing.T, string, []byte) []byte { return []byte("hello") }, false},
		"OtherKey": {"the answer to another request is none to this", func(t *testing.T, _ string, _ []byte) []byte {
			return file(t, strings.Repeat("00", 32), hour, marshal(t, answer(request(1, ""), time.Hour)))
		}, false},
		"NoProtobuf": {"what is no response is damaged, whatever the sum", func(t *testing.T, p string, _ []byte) []byte { return file(t, p, hour, []byte{0xff}) }, false},
		"NoTTL":      {"a response that would not be kept is not used", func(t *testing.T, p string, _ []byte) []byte { return file(t, p, hour, nil) }, false},
		"Fatal":      {"nor is a fatal one", func(t *testing.T, p string, _ []byte) []byte { return file(t, p, hour, marshal(t, fatal)) }, false},
		"Over": {"what is over is not used", func(t *testing.T, p string, _ []byte) []byte {
			return file(t, p, math.MinInt64, marshal(t, answer(request(1, ""), time.Hour)))
		}, false},
		"HostileLength": {"a length is not believed", func(_ *testing.T, _ string, b []byte) []byte { copy(b[48:], bytes.Repeat([]byte{0xff}, 8)); return b }, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := entryPath(t, intercept.Cache(echo(time.Hour), options(t, dir)), dir)
			good, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			put(t, path, string(tc.spoil(t, path, good)))
			checkUse(t, tc.reason, dir, tc.wantHit)
			if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) == tc.wantHit {
				t.Errorf("%s: the file: %v", tc.reason, err)
			}
		})
	}
}

// checkUse calls for request(1), with a function that has no answer to keep.
func checkUse(t *testing.T, reason, dir string, wantHit bool) {
	t.Helper()
	calls := report.Record(echo(0), time.Now)
	call(t, intercept.Cache(calls, options(t, dir)), "fn", request(1, ""))
	if hit := len(calls.Calls()) == 0; hit != wantHit {
		t.Errorf("%s: hit is %t", reason, hit)
	}
}

// What is no regular file is not followed, opened or written through.
func TestIrregularFiles(t *testing.T) {
	cases := map[string]struct {
		reason string
		put    func(path, outside string) error
	}{
		"Link":     {"a link out of the folder is not followed, even to a good answer", func(path, outside string) error { return os.Symlink(outside, path) }},
		"Folder":   {"an empty folder is in the way of an answer", func(path, _ string) error { return os.Mkdir(path, 0o700) }},
		"DeadLink": {"a link to nothing is in the way, too", func(path, _ string) error { return os.Symlink("nothing", path) }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "outside")
			r := intercept.Cache(echo(time.Hour), options(t, dir))
			path := entryPath(t, r, dir)
			if err := os.Rename(path, outside); err != nil {
				t.Fatal(err)
			}
			before, err := os.ReadFile(outside)
			if err != nil {
				t.Fatal(err)
			}
			if err := tc.put(path, outside); err != nil {
				t.Skipf("this system makes none: %v", err)
			}
			checkUse(t, tc.reason, dir, false)
			if got := entryPath(t, r, dir); got != path {
				t.Errorf("%s: the answer is kept as %s", tc.reason, got)
			}
			if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
				t.Errorf("%s: the answer is not kept: %v, %v", tc.reason, info, err)
			}
			if after, err := os.ReadFile(outside); err != nil || !bytes.Equal(before, after) {
				t.Errorf("%s: the file outside was changed: %v", tc.reason, err)
			}
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
		"Good":    {"an answer that is good stays", key("a") + ".response", func(p string) []byte { return file(t, p, noon.UnixNano()+1, []byte("x")) }, 0, false},
		"Over":    {"an answer that is over goes", key("a") + ".response", func(p string) []byte { return file(t, p, noon.UnixNano(), []byte("x")) }, 0, true},
		"Damaged": {"half of an answer goes", key("a") + ".response", func(p string) []byte { return file(t, p, noon.UnixNano()+1, []byte("x"))[:57] }, 0, true},
		"Overflow": {"a length that wraps around to fit the file is none", key("a") + ".response", func(p string) []byte {
			b := file(t, p, noon.UnixNano()+1, nil)[:56]
			binary.BigEndian.PutUint64(b[48:], math.MaxUint64-31) // 32 less than nothing
			return b
		}, 0, true},
		"Foreign":    {"what has an answer's name and is none goes", key("a") + ".response", func(string) []byte { return []byte("hello") }, 0, true},
		"Misnamed":   {"an answer under another's name goes", key("a") + ".response", func(string) []byte { return file(t, key("b"), noon.UnixNano()+1, []byte("x")) }, 0, true},
		"Other":      {"the user's own files stay", "notes.txt", func(string) []byte { return nil }, 48 * time.Hour, false},
		"OtherTemp":  {"even those that look half-written", ".notes.txt.123.tmp", func(string) []byte { return nil }, 48 * time.Hour, false},
		"ShortName":  {"and those with no whole key", key("a")[1:] + ".response", func(string) []byte { return nil }, 48 * time.Hour, false},
		"NewHalf":    {"a file that may still be written stays", ".xfn-" + strings.Repeat("a", 26) + ".tmp", func(string) []byte { return nil }, time.Hour, false},
		"OldHalf":    {"one that a killed process left goes", ".xfn-" + strings.Repeat("a", 26) + ".tmp", func(string) []byte { return nil }, time.Hour + time.Second, true},
		"FutureHalf": {"a clock that is ahead makes none old", ".xfn-" + strings.Repeat("a", 26) + ".tmp", func(string) []byte { return nil }, -48 * time.Hour, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), tc.name)
			put(t, path, string(tc.content(path)))
			if err := os.Chtimes(path, noon.Add(-tc.age), noon.Add(-tc.age)); err != nil {
				t.Fatal(err)
			}
			removed, err := intercept.PruneCache(t.Context(), filepath.Dir(path), noon)
			if err != nil {
				t.Fatal(err)
			}
			if gone := len(names(t, filepath.Dir(path))) == 0; gone != tc.wantRemoved || removed == 1 != tc.wantRemoved {
				t.Errorf("%s: gone is %t, %d removed", tc.reason, gone, removed)
			}
		})
	}
}

func TestPruneOtherFolders(t *testing.T) {
	dir := t.TempDir()
	if n, err := intercept.PruneCache(t.Context(), filepath.Join(dir, "absent"), noon); n != 0 || err != nil {
		t.Errorf("a folder that is not there: got %d, %v", n, err)
	}
	put(t, filepath.Join(dir, "f"), "x")
	if _, err := intercept.PruneCache(t.Context(), filepath.Join(dir, "f"), noon); err == nil {
		t.Error("a file is no folder")
	}
	// A folder that is not empty cannot be removed as a file; the rest can.
	full := filepath.Join(dir, strings.Repeat("a", 64)+".response")
	if err := os.MkdirAll(filepath.Join(full, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, strings.Repeat("b", 64)+".response"), "x")
	if n, err := intercept.PruneCache(t.Context(), dir, noon); n != 1 || err == nil || !strings.Contains(err.Error(), full) {
		t.Errorf("got %d, %v", n, err)
	}
}

// FuzzEntry puts foreign bytes where an answer is looked for: as they are, or
// as the response in a file that is whole.
func FuzzEntry(f *testing.F) {
	dir := f.TempDir()
	path := entryPath(f, intercept.Cache(echo(time.Hour), intercept.CacheOptions{Dir: dir, Identity: byName}), dir)
	good, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
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
		put(t, path, string(data))
		calls := report.Record(echo(0), time.Now)
		rsp := call(t, intercept.Cache(calls, options(t, dir)), "fn", request(1, "tag"))
		if rsp.GetMeta().GetTag() != "tag" {
			t.Errorf("got %v", rsp)
		}
		if hit := len(calls.Calls()) == 0; hit && rsp.GetMeta().GetTtl().AsDuration() <= 0 {
			t.Errorf("a response without a TTL was used: %v", rsp)
		}
		if _, err := intercept.PruneCache(t.Context(), dir, noon); err != nil {
			t.Error(err)
		}
	})
}
