package xpkg

import (
	"context"

	"github.com/xfn-dev/xfn/internal/oci/archive"
	"github.com/xfn-dev/xfn/internal/progress"
)

// WriteFile writes a as an .xpkg file: one tar that is an OCI image layout and a
// Docker archive. The same artifact gives the same bytes. The file is complete or
// absent, and has mode 0644; a device or pipe is written to. The file may be one
// that the layers of a are read from, except on Windows while that file is open.
//
// WriteFile calls report with the bytes of blobs that it has written and their
// total. It may be nil.
func WriteFile(ctx context.Context, path string, a Artifact, report func(text string, done, total int64)) error {
	return WriteFiles(ctx, []Target{{path, a}}, report)
}

// WriteFiles writes .xpkg files as WriteFile does. It writes all of them before it
// renames the first to its path: after an error, such as that of a full disk,
// there is none.
func WriteFiles(ctx context.Context, targets []Target, report func(text string, done, total int64)) error {
	files := make([]archive.Target, len(targets))
	for i, t := range targets {
		files[i] = archive.Target{Path: t.Path, Artifact: t.Artifact}
	}
	return archive.WriteFiles(ctx, progress.FromPlain(report), files...)
}
