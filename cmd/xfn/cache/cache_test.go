package cache_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"github.com/xfn-dev/xfn/cmd/xfn/cache"
	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/e2e"
)

const (
	cachedName = "r.example/fn:v1"
	digest     = "sha256:1d3f0a3d6ff5d9f6e6d9bff3e62e6b8d0fb8a7ad9b0ec6b2ff2c6a15dcf6a6f0"
	// file is the SHA-256 sum of cachedName, by which the cache names the file of the reference.
	file = "e8e953f2e780e90c5807df7f44a4a40a8f5cefa1b5d6a57d02cdb2a6896959d4"
)

// cached creates a cache with one reference, last used the duration ago before now,
// and a blob of size bytes.
func cached(t *testing.T, ago time.Duration, size int64) flags.Cache {
	t.Helper()
	dir := t.TempDir()
	for _, folder := range []string{"refs", "blobs/sha256"} {
		e2e.NoError(t, os.MkdirAll(filepath.Join(dir, folder), 0o700))
	}
	ref := filepath.Join(dir, "refs", file+".json")
	e2e.NoError(t, os.WriteFile(ref, []byte(`{"reference":"`+cachedName+`","digest":"`+digest+`"}`), 0o600))
	used := time.Now().Add(-ago)
	e2e.NoError(t, os.Chtimes(ref, used, used))
	blob := filepath.Join(dir, "blobs", "sha256", strings.TrimPrefix(digest, "sha256:"))
	e2e.NoError(t, os.WriteFile(blob, nil, 0o600))
	e2e.NoError(t, os.Truncate(blob, size))
	return flags.Cache{CacheDir: dir}
}

type command interface {
	Run(context.Context, *kong.Context, *terminal.Terminal) error
}

func output(t *testing.T, c command) string {
	t.Helper()
	var out bytes.Buffer
	e2e.NoError(t, c.Run(t.Context(), &kong.Context{}, &terminal.Terminal{Stdout: &out}))
	return out.String()
}

func TestInfo(t *testing.T) {
	cases := map[string]struct {
		reason string
		ago    time.Duration
		size   int64
		want   string
	}{
		"Now":     {"a use within a minute is now", 0, 0, "0 B now"},
		"Minutes": {"minutes are rounded down", 90 * time.Second, 1023, "1023 B 1m"},
		"Hours":   {"two days are shown in hours", 47 * time.Hour, 1536, "1.5 KiB 47h"},
		"Days":    {"longer times are shown in days", 50 * time.Hour, 5 << 20, "5.0 MiB 2d"},
		"Large":   {"a large size is shown in GiB", 0, 3 << 30, "3.0 GiB now"},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			dir := cached(t, tc.ago, tc.size)
			lines := strings.Split(output(t, &cache.InfoCmd{Cache: dir}), "\n")
			got := strings.Join(strings.Fields(lines[len(lines)-2]), " ")
			e2e.Equal(t, tc.reason, cachedName+" "+digest[:19]+" "+tc.want, got)
		})
	}
}

func TestOlderThan(t *testing.T) {
	cases := map[string]struct {
		reason, than string
		gone, err    bool
	}{
		"Hours":    {reason: "a reference that is older than the hours is removed", than: "12h", gone: true},
		"Days":     {reason: "a reference that is older than the days is removed", than: "3d", gone: true},
		"Younger":  {reason: "a younger reference is kept", than: "5d"},
		"Century":  {reason: "a very long time does not overflow", than: "4000000000d"},
		"None":     {reason: "an age of zero is an error", than: "0s", err: true},
		"Negative": {reason: "a negative age is an error", than: "-1h", err: true},
		"Word":     {reason: "a unit without a number is an error", than: "d", err: true},
		"Empty":    {reason: "an empty age is an error", err: true},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			c := &cache.PruneCmd{Cache: cached(t, 4*24*time.Hour, 10)}
			if err := c.OlderThan.UnmarshalText([]byte(tc.than)); (err != nil) != tc.err {
				t.Fatalf("%s: got %v", tc.reason, err)
			}
			if tc.err {
				return
			}
			want := "images: removed 0 files, 0 B\nbuilds: removed 0 built images, 0 B\nroots: removed 0 unpacked images, 0 B\ngo: removed 0 programs, 0 B\nnpm: removed 0 packages, 0 B\npython: removed 0 files, 0 B\ntypescript: removed 0 bundles, 0 B\n"
			if tc.gone {
				want = "removed " + cachedName + "\nimages: removed 1 file, 10 B\nbuilds: removed 0 built images, 0 B\nroots: removed 0 unpacked images, 0 B\ngo: removed 0 programs, 0 B\nnpm: removed 0 packages, 0 B\npython: removed 0 files, 0 B\ntypescript: removed 0 bundles, 0 B\n"
			}
			e2e.Equal(t, tc.reason, want, output(t, c))
		})
	}
}

func TestPath(t *testing.T) {
	e2e.Equal(t, "a relative cache directory becomes absolute", filepath.Join(e2e.Must(os.Getwd())(t), "mine"), e2e.Must((flags.Cache{CacheDir: "mine"}).Path())(t))
	if runtime.GOOS != "linux" {
		t.Skip("other systems have another cache directory")
	}
	t.Setenv("XDG_CACHE_HOME", "/caches")
	e2e.Equal(t, "the default is a folder in XDG_CACHE_HOME", "/caches/xfn", e2e.Must((flags.Cache{}).Path())(t))
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("HOME", "")
	e2e.Error(t, "a cache path without a home directory", e2e.Err((flags.Cache{}).Path()))
	t.Setenv("HOME", "relative")
	e2e.ErrorHas(t, "a relative home directory is an error", e2e.Err((flags.Cache{}).Path()), `"relative/.cache" is not an absolute path`)
}
