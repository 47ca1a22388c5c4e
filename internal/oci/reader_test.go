package oci_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
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
	_, err := io.CopyN(io.Discard, ahead, 1000)
	e2e.NoError(t, err)
	stop()
	stop() // A second call does nothing.
	reads := source.reads
	if _, err := io.Copy(io.Discard, ahead); err == nil {
		t.Error("reading to the end after a stop: got no error")
	}
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
			r, err := oci.Verify(io.NopCloser(iotest.HalfReader(bytes.NewReader(content))), digest, int64(size))
			e2e.NoError(t, err)
			_, err = io.Copy(io.Discard, r)
			if mismatch := new(oci.MismatchError); errors.As(err, &mismatch) != (changed >= 0) || (err == nil) != (changed < 0) {
				t.Errorf("%d bytes, of which byte %d was changed: got %v", size, changed, err)
			}
		}
	}
}
