package runtimeimage

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/oci/archive"
)

// write stores the layer in the spool: from the folder l.Cache if that has it, or else by
// l.Write.
func (b *layering) write(ctx context.Context, l Layer) (archive.Layer, error) {
	if l.Cache == "" {
		return b.spool.draft.Compress(l.Write)
	}
	file := filepath.Join(l.Cache, fmt.Sprintf("%x", sha256.Sum256([]byte(compressor()+l.Key))))
	if done, err := b.fromFile(ctx, file); err == nil || ctx.Err() != nil {
		_, _ = fsx.Touch(file), fsx.Touch(file+".json") // only a prune of the cache reads the times
		return done, err
	}
	done, err := b.spool.draft.Compress(l.Write)
	if err != nil {
		return done, err
	}
	return done, saveLayer(ctx, file, done)
}

// fromFile stores a layer that saveLayer wrote. The description of the layer is read first,
// and the content is verified by its digest.
func (b *layering) fromFile(ctx context.Context, file string) (done archive.Layer, err error) {
	var blob oci.Blob
	data, err := os.ReadFile(file + ".json")
	if err != nil {
		return done, err
	}
	if err := json.Unmarshal(data, &blob); err != nil {
		return done, err
	}
	if blob.Digest == (v1.Hash{}) || blob.DiffID == (v1.Hash{}) {
		return done, errors.New("the description is incomplete")
	}
	f, err := os.Open(file)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	r, err := oci.Verify(f, blob.Digest, blob.Size)
	if err != nil {
		return done, err
	}
	return b.spool.draft.Copy(ctx, r, blob)
}

func saveLayer(ctx context.Context, file string, l archive.Layer) (err error) {
	data, _ := json.Marshal(l.Blob) // Its types have no errors.
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("opening the cache: %w", fsx.Cause(err))
	}
	r, err := l.Layer.Compressed()
	if err != nil {
		return fmt.Errorf("reading a layer: %w", err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	err = fsx.Write(file, 0o600, func(w io.Writer) error {
		_, err := oci.Copy(ctx, w, r)
		return err
	})
	if err != nil {
		return err
	}
	return fsx.WriteFile(file+".json", 0o600, data)
}

// compressor returns the versions of the libraries that compress layers. Another version may
// write other bytes for the same content.
func compressor() string {
	text := runtime.Version()
	info, _ := debug.ReadBuildInfo()
	if info == nil {
		return text
	}
	for _, m := range info.Deps {
		if strings.HasPrefix(m.Path, "github.com/klauspost/") {
			text += " " + m.Path + "@" + m.Version
		}
	}
	return text + "\n"
}
