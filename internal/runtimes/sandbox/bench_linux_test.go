package sandbox_test

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	ggcr "github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
	"github.com/xfn-dev/xfn/internal/runtimes"
	"github.com/xfn-dev/xfn/internal/runtimes/sandbox"
)

// rounds is the number of measurements from which a benchmark takes the median.
const rounds = 20

const (
	mb = 1_000_000
	// programSize is the approximate size, in bytes, of the test function in a package.
	programSize = 5 * mb
)

// BenchmarkSize compares the times to the first answer of functions with images of 5 MB
// and of 500 MB: from a cache, from an .xpkg file, and from a file of docker save or the
// crossplane CLI. The ratio should be 1.
func BenchmarkSize(b *testing.B) {
	dir := b.TempDir()
	small, large := sizedPackage(b, dir, program(b, "function"), 5*mb), sizedPackage(b, dir, program(b, "function"), 500*mb)
	registry := remotetest.Serve(b, remotetest.Handler())
	for _, from := range []struct {
		name  string
		store func(name string, img v1.Image) (pkg string)
	}{
		{"Cache", func(name string, img v1.Image) string { return pushed(b, registry+"/"+name+":v1", img) }},
		{"File", func(name string, img v1.Image) string {
			file := filepath.Join(dir, name+".xpkg")
			writePackage(b, file, img)
			return file
		}},
		{"DockerSave", func(name string, img v1.Image) string { return saved(b, filepath.Join(dir, name+"-saved.xpkg"), img) }},
	} {
		b.Run(from.name, func(b *testing.B) {
			s := sandbox.Sandbox{Cache: b.TempDir()}
			fns := [2]runtimes.Function{{Name: "small", Package: from.store("small", small)}, {Name: "large", Package: from.store("large", large)}}
			var took [2][]time.Duration
			for _, fn := range fns {
				answerOf(b, s, fn)
			}
			for b.Loop() {
				for range rounds {
					for i, fn := range fns {
						took[i] = append(took[i], answerOf(b, s, fn))
					}
				}
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(ms(median(took[0])), "5MB-ms")
			b.ReportMetric(ms(median(took[1])), "500MB-ms")
			b.ReportMetric(ms(median(took[1]))/ms(median(took[0])), "500MB/5MB")
		})
	}
}

func pushed(b testing.TB, reference string, img v1.Image) string {
	b.Helper()
	tag := e2e.Must(name.NewTag(reference))(b)
	e2e.NoError(b, ggcr.Write(tag, img))
	return reference
}

func saved(b testing.TB, file string, img v1.Image) string {
	b.Helper()
	e2e.NoError(b, tarball.WriteToFile(file, name.MustParseReference("xfn-benchmark:latest"), img))
	return file
}

// answerOf measures the time from the start of a function in a sandbox to its first
// answer, and stops the function.
func answerOf(b *testing.B, s sandbox.Sandbox, fn runtimes.Function) time.Duration {
	b.Helper()
	begun := time.Now()
	instance, err := s.Start(b.Context(), fn)
	e2e.NoError(b, err)
	err = ask(b.Context(), instance)
	took := time.Since(begun)
	e2e.NoError(b, errors.Join(err, instance.Stop(b.Context())))
	return took
}

func ask(ctx context.Context, f function.Runner) error {
	rsp, err := f.RunFunction(ctx, "function", &fnv1.RunFunctionRequest{Meta: &fnv1.RequestMeta{Tag: "hello"}})
	if err == nil && rsp.GetMeta().GetTag() != "hello" {
		err = fmt.Errorf("the answer is %v", rsp)
	}
	return err
}

// sizedPackage returns a package of the test function. A layer of random bytes makes the
// size of its image about size.
func sizedPackage(b testing.TB, dir, program string, size int64) v1.Image {
	b.Helper()
	info := e2e.Must(os.Stat(program))(b)
	data := e2e.Must(os.Open(program))(b)
	defer data.Close()
	layer := writeTar(b, filepath.Join(dir, "program.tar"), "function", data, info.Size())
	noise := writeTar(b, filepath.Join(dir, fmt.Sprintf("noise%d.tar", size)), "noise", rand.NewChaCha8([32]byte{}), size-programSize)
	img, ok := packageOf(b, v1.Config{Entrypoint: []string{"/function"}, User: "65532:65532"}, layer, noise).(v1.Image)
	if !ok {
		b.Fatal("the package is not an image")
	}
	return img
}

func writeTar(b testing.TB, file, name string, content io.Reader, size int64) string {
	b.Helper()
	f, err := os.Create(file)
	e2e.NoError(b, err)
	defer f.Close()
	w := tar.NewWriter(f)
	err = w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o755, Size: size})
	if err == nil {
		_, err = io.CopyN(w, content, size)
	}
	e2e.NoError(b, errors.Join(err, w.Close()))
	return file
}

func median(ds []time.Duration) time.Duration {
	slices.Sort(ds)
	return ds[len(ds)/2]
}

func ms(d time.Duration) float64 { return d.Seconds() * 1e3 }
