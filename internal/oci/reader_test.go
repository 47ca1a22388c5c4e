package oci_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/oci"
)

func randomBytes(size int) []byte {
	data := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{}).Read(data) // Read does not fail.
	return data
}

// TestAhead checks that reading in advance changes neither the content nor the error.
func TestAhead(t *testing.T) {
	broken := errors.New("broken")
	for _, tc := range []struct {
		reason string
		size   int
		err    error
	}{
		{"nothing", 0, nil},
		{"less than a block", 1000, nil},
		{"exactly one block", 256 << 10, nil},
		{"more than all blocks", 3<<20 + 1, nil},
		{"an error before the first byte", 0, broken},
		{"an error after more than a block", 300 << 10, broken},
	} {
		want := randomBytes(tc.size)
		source := func() io.Reader {
			r := iotest.HalfReader(bytes.NewReader(want))
			if tc.err != nil {
				r = io.MultiReader(r, iotest.ErrReader(tc.err))
			}
			return r
		}
		var copied bytes.Buffer
		if n, err := oci.Copy(t.Context(), &copied, source()); n != int64(tc.size) || !errors.Is(err, tc.err) || !bytes.Equal(copied.Bytes(), want) {
			t.Errorf("Copy: got %d bytes and error %v, want %d and %v: %s", n, err, tc.size, tc.err, tc.reason)
		}
		ahead, stop := oci.Ahead(source())
		read, err := io.ReadAll(iotest.OneByteReader(ahead))
		if stop(); !errors.Is(err, tc.err) || !bytes.Equal(read, want) {
			t.Errorf("Ahead: got %d bytes and error %v, want %d and %v: %s", len(read), err, tc.size, tc.err, tc.reason)
		}
	}
}

// TestAheadStops checks that the source is not read after a stop, and that reading then fails.
func TestAheadStops(t *testing.T) {
	source := &counted{Reader: bytes.NewReader(randomBytes(8 << 20))}
	ahead, stop := oci.Ahead(source)
	e2e.Must(io.CopyN(io.Discard, ahead, 1000))(t)
	stop()
	stop() // A second call does nothing.
	reads := source.reads
	e2e.Error(t, "reading to the end after a stop", e2e.Err(io.Copy(io.Discard, ahead)))
	if source.reads != reads || reads > 10 {
		t.Errorf("got %d reads of the source after the stop and %d before", source.reads-reads, reads)
	}
}

type counted struct {
	io.Reader
	reads int
}

func (c *counted) Read(p []byte) (int, error) {
	c.reads++
	return c.Reader.Read(p)
}

// TestVerifyLarge checks the digest of content that is hashed in blocks.
func TestVerifyLarge(t *testing.T) {
	for _, size := range []int{1<<20 + 1, 3 << 19, 5<<20 + 12345} {
		data := randomBytes(size)
		sum := sha256.Sum256(data)
		digest := v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(sum[:])}
		for _, changed := range []int{-1, 0, size / 2, size - 1} {
			content := bytes.Clone(data)
			if changed >= 0 {
				content[changed]++
			}
			for name, copyAll := range map[string]func(io.Writer, io.Reader) (int64, error){
				"io.Copy":  io.Copy,
				"oci.Copy": func(w io.Writer, r io.Reader) (int64, error) { return oci.Copy(t.Context(), w, r) },
			} {
				var copied bytes.Buffer
				r := e2e.Must(oci.Verify(io.NopCloser(iotest.HalfReader(bytes.NewReader(content))), digest, int64(size)))(t)
				n, err := copyAll(&copied, r)
				if mismatch := new(oci.MismatchError); errors.As(err, &mismatch) != (changed >= 0) || (err == nil) != (changed < 0) {
					t.Errorf("%s of %d bytes, of which byte %d was changed: got %v", name, size, changed, err)
				}
				if n != int64(size) || !bytes.Equal(copied.Bytes(), content) {
					t.Errorf("%s of %d bytes, of which byte %d was changed: got %d other bytes", name, size, changed, n)
				}
			}
		}
	}
}

// TestCopyVerified checks that Copy of a large verified blob ends with the first error.
func TestCopyVerified(t *testing.T) {
	data := randomBytes(6 << 20)
	sum := sha256.Sum256(data)
	digest := v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(sum[:])}
	broken := errors.New("broken")
	ended, end := context.WithCancelCause(t.Context())
	end(broken)
	in, full := io.Pipe()
	e2e.NoError(t, in.CloseWithError(errors.New("full")))
	for _, tc := range []struct {
		reason  string
		ctx     context.Context
		content io.Reader
		dst     io.Writer
		want    string
	}{
		{"more content than the descriptor says is an error", t.Context(), io.MultiReader(bytes.NewReader(data), strings.NewReader("more")), io.Discard, "is longer than its descriptor says"},
		{"less content than the descriptor says is an error", t.Context(), bytes.NewReader(data[:5<<20]), io.Discard, "is 1048576 bytes shorter than its descriptor says"},
		{"a broken connection is an error", t.Context(), io.MultiReader(bytes.NewReader(data[:3<<20]), iotest.ErrReader(broken)), io.Discard, "broken"},
		{"a full disk is an error", t.Context(), bytes.NewReader(data), full, "full"},
		{"an interrupt is an error", ended, bytes.NewReader(data), io.Discard, "broken"},
	} {
		r, err := oci.Verify(io.NopCloser(tc.content), digest, int64(len(data)))
		e2e.NoError(t, err)
		_, err = oci.Copy(tc.ctx, tc.dst, r)
		e2e.ErrorHas(t, tc.reason, err, tc.want)
	}
}
