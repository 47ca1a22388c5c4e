package image_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sync/errgroup"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/image"
)

func openBlobDir(t testing.TB, path string) *image.BlobDir {
	t.Helper()
	return e2e.Must(image.OpenBlobDir(path))(t)
}

var content = bytes.Repeat([]byte("0123456789abcdef"), 10_000)

func describe(t testing.TB, data []byte) v1.Descriptor {
	t.Helper()
	h, size, err := v1.SHA256(bytes.NewReader(data))
	e2e.NoError(t, err)
	return v1.Descriptor{Digest: h, Size: size}
}

var errCut = errors.New("the connection broke")

// A source sends data, and records the requested offsets.
type source struct {
	data []byte
	// Stream number n of the source breaks after cuts[n] bytes. Streams without a cut do not
	// break.
	cuts  []int
	asked []int64
}

func (s *source) open(_ context.Context, from int64) io.ReadCloser {
	s.asked = append(s.asked, from)
	rest := s.data[min(from, int64(len(s.data))):]
	if len(s.cuts) == 0 {
		return io.NopCloser(bytes.NewReader(rest))
	}
	cut := s.cuts[0]
	s.cuts = s.cuts[1:]
	return io.NopCloser(io.MultiReader(bytes.NewReader(rest[:min(cut, len(rest))]), broken{}))
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errCut }

func TestFetchBlob(t *testing.T) {
	size := int64(len(content))
	flipped := bytes.Clone(content)
	flipped[5] ^= 1
	cases := map[string]struct {
		reason string
		before []byte // the content of the partial file before Fetch
		source source
		asked  []int64
		err    string
		left   int // the number of partial files after Fetch
	}{
		"Whole":       {reason: "a blob is fetched", source: source{data: content}, asked: []int64{0}},
		"Resumed":     {reason: "a partial file is resumed", before: content[:1000], source: source{data: content}, asked: []int64{1000}},
		"Complete":    {reason: "a complete partial file needs no request", before: content, source: source{data: content}},
		"Cut":         {reason: "the bytes before an error are kept", source: source{data: content, cuts: []int{1}}, asked: []int64{0}, err: errCut.Error(), left: 1},
		"CutAtOnce":   {reason: "an empty file is not kept", source: source{data: content, cuts: []int{0}}, asked: []int64{0}, err: errCut.Error()},
		"Other":       {reason: "a blob with a wrong digest is fetched once more", source: source{data: flipped}, asked: []int64{0, 0}, err: "other content than its digest says"},
		"BadPiece":    {reason: "a blob with a wrong partial file is fetched again", before: flipped[:1000], source: source{data: content}, asked: []int64{1000, 0}},
		"BadComplete": {reason: "a complete partial file with a wrong digest is fetched again", before: flipped, source: source{data: content}, asked: []int64{0}},
		"BadBoth":     {reason: "a blob is fetched at most twice", before: flipped[:1000], source: source{data: flipped}, asked: []int64{1000, 0}, err: "other content"},
		"TooLong":     {reason: "a partial file that is too long is ignored", before: append(bytes.Clone(content), 'x'), source: source{data: content}, asked: []int64{0}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			d, desc := openBlobDir(t, dir), describe(t, content)
			if tc.before != nil {
				e2e.NoError(t, os.WriteFile(filepath.Join(dir, "partial", desc.Digest.Hex+".1"), tc.before, 0o600))
			}
			var moved int64
			err := d.Fetch(t.Context(), desc, tc.source.open, func(n int64) { moved += n })
			e2e.WantError(t, tc.reason, err, tc.err)
			e2e.Equal(t, tc.reason+": requested offsets", fmt.Sprint(tc.asked), fmt.Sprint(tc.source.asked))
			e2e.Equal(t, tc.reason+": the blob exists", tc.err == "", d.Has(desc.Digest, size))
			if tc.err == "" && moved != size {
				t.Errorf("%s: %d bytes were reported, want %d", tc.reason, moved, size)
			}
			e2e.Equal(t, tc.reason, tc.left, e2e.Must(d.Usage())(t).Leftovers)
		})
	}
}

// A digest that is not a SHA-256 sum is an error.
func TestFetchBlobOtherDigest(t *testing.T) {
	other := v1.Descriptor{Digest: v1.Hash{Algorithm: "sha512", Hex: strings.Repeat("0", 128)}}
	e2e.ErrorHas(t, "a digest that is not a SHA-256 sum is an error", openBlobDir(t, t.TempDir()).Fetch(t.Context(), other, nil, nil), "not a SHA-256 sum")
}

// Concurrent fetches of one blob succeed and leave no partial files.
func TestFetchBlobAtOnce(t *testing.T) {
	dir, desc := t.TempDir(), describe(t, content)
	var g errgroup.Group
	for range 8 {
		g.Go(func() error {
			d, err := image.OpenBlobDir(dir)
			if err != nil {
				return err
			}
			s := source{data: content}
			if err := d.Fetch(t.Context(), desc, s.open, func(int64) {}); err != nil {
				return err
			}
			got, err := d.Read(desc.Digest, desc.Size)
			if err == nil && !bytes.Equal(got, content) {
				return errors.New("the content differs")
			}
			return err
		})
	}
	e2e.NoError(t, e2e.Await(t, g.Wait))
	e2e.Equal(t, "the blob is stored once, without partial files", image.Usage{Blobs: 1, Bytes: desc.Size}, e2e.Must(openBlobDir(t, dir).Usage())(t))
}

func TestFetchBlobIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	d, desc := openBlobDir(t, t.TempDir()), describe(t, content)
	var tries atomic.Int64
	err := d.Fetch(ctx, desc, func(context.Context, int64) io.ReadCloser {
		tries.Add(1)
		cancel()
		return io.NopCloser(bytes.NewReader(content))
	}, func(int64) {})
	if !errors.Is(err, context.Canceled) || tries.Load() != 1 {
		t.Errorf("got %v after %d tries", err, tries.Load())
	}
}

func put(t testing.TB, d *image.BlobDir, data []byte) v1.Descriptor {
	t.Helper()
	desc := describe(t, data)
	e2e.NoError(t, d.Put(t.Context(), desc.Digest, data))
	return desc
}

// A damaged blob is detected and removed, so that it is fetched again.
func TestDamagedBlob(t *testing.T) {
	for name, damage := range map[string]func(b []byte) []byte{
		"Flipped": func(b []byte) []byte { b[3] ^= 1; return b },
		"Cut":     func(b []byte) []byte { return b[:4] },
		"Empty":   func([]byte) []byte { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			d := openBlobDir(t, dir)
			desc := put(t, d, []byte("the content"))
			path := filepath.Join(dir, "blobs", "sha256", desc.Digest.Hex)
			spoil := func() { e2e.NoError(t, os.WriteFile(path, damage([]byte("the content")), 0o600)) }

			spoil()
			e2e.ErrorIs(t, "a damaged blob is missing when it is read", e2e.Err(d.Read(desc.Digest, 100)), fs.ErrNotExist)
			put(t, d, []byte("the content"))
			spoil()
			rc, err := d.Open(desc.Digest, desc.Size)
			e2e.NoError(t, err)
			_, err = io.ReadAll(rc)
			e2e.NoError(t, rc.Close())
			if err == nil || !strings.Contains(err.Error(), "the cache was damaged") || hint.Of(err) == "" {
				t.Errorf("open: got %v", err)
			}
			e2e.ErrorIs(t, "the damaged blob is removed", e2e.Err(os.Stat(path)), fs.ErrNotExist)
		})
	}
}

// Blobs in an untrusted folder are verified.
func TestPeek(t *testing.T) {
	dir := t.TempDir()
	r := openBlobDir(t, dir)
	sums := filepath.Join(dir, "blobs", "sha256")
	desc, wrong := describe(t, content), describe(t, []byte("other"))
	e2e.NoError(t, os.WriteFile(filepath.Join(sums, desc.Digest.Hex), content, 0o600))
	e2e.NoError(t, os.WriteFile(filepath.Join(sums, wrong.Digest.Hex), []byte("wrong"), 0o600))
	folder := v1.Hash{Algorithm: "sha256", Hex: strings.Repeat("a", 64)}
	e2e.NoError(t, os.Mkdir(filepath.Join(sums, folder.Hex), 0o700))
	cases := map[string]struct {
		reason string
		hash   v1.Hash
		limit  int64
		err    string
	}{
		"There":  {"a blob is read", desc.Digest, desc.Size, ""},
		"Limit":  {"the size of a blob is limited", desc.Digest, desc.Size - 1, "more than the limit"},
		"Wrong":  {"a blob with a wrong digest is an error", wrong.Digest, 100, "other content"},
		"Folder": {"a folder instead of a blob is an error", folder, 100, "not a regular file"},
		"Absent": {"a missing blob is an error", v1.Hash{Algorithm: "sha256", Hex: strings.Repeat("b", 64)}, 100, "finding blob"},
		"Sum":    {"a digest other than SHA-256 is an error", v1.Hash{}, 100, "not a SHA-256 sum"},
		"Path":   {"a path in a digest is an error", v1.Hash{Algorithm: "sha256", Hex: "../../x"}, 100, "invalid"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := r.Peek(tc.hash, tc.limit)
			if tc.err == "" && (err != nil || !bytes.Equal(got, content)) || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("%s: got %v, want %q", tc.reason, err, tc.err)
			}
		})
	}
}

func TestOpenBlobsInFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	e2e.NoError(t, os.WriteFile(file, nil, 0o600))
	e2e.ErrorHas(t, "a file instead of the directory is an error with its path", e2e.Err(image.OpenBlobDir(file)), file)
}

// A Fetch resumes in a cache whose path has the characters of patterns.
func TestFetchBlobInBrackets(t *testing.T) {
	for _, name := range []string{"a[b", "a[b]"} {
		d := openBlobDir(t, filepath.Join(t.TempDir(), name))
		src := source{data: content, cuts: []int{1000}}
		e2e.ErrorIs(t, name+": a broken download is an error", d.Fetch(t.Context(), describe(t, content), src.open, func(int64) {}), errCut)
		e2e.NoError(t, d.Fetch(t.Context(), describe(t, content), src.open, func(int64) {}))
		e2e.Equal(t, name+": the offsets", []int64{0, 1000}, src.asked)
	}
}
