package rootfs_test

import (
	"archive/tar"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/image/rootfs"
	"github.com/xfn-dev/xfn/internal/oci"
)

// BenchmarkUnpack measures the time to unpack an image, to decompress its layer to
// io.Discard, and to find the image in the store. The image Program has one file of 50 MB.
// The image Distribution has 8000 files of 1 to 50 kB.
func BenchmarkUnpack(b *testing.B) {
	program := programs(b)
	var many []tar.Header
	src := rand.New(rand.NewPCG(1, 2))
	for i := range 8000 {
		if i%20 == 0 {
			many = append(many, dir(fmt.Sprintf("usr/lib/d%d/", i/20)))
		}
		at, size := src.IntN(len(program)-60_000), 1000+src.IntN(49_000)
		many = append(many, file(fmt.Sprintf("usr/lib/d%d/f%d", i/20, i), program[at:at+size]))
	}
	images := map[string]v1.Image{
		"Program":      imageOf(b, []tar.Header{file("function", program)}),
		"Distribution": imageOf(b, many),
	}
	for _, name := range []string{"Program", "Distribution"} {
		b.Run(name, func(b *testing.B) { compare(b, images[name]) })
	}
}

// programs returns 50 MB of compiled programs.
func programs(b *testing.B) string {
	one := e2e.Must(os.ReadFile(e2e.Must(os.Executable())(b)))(b)
	all := slices.Repeat(one, 1+50_000_000/len(one))
	return string(all[:50_000_000])
}

func compare(b *testing.B, img v1.Image) {
	var cold, warm, plain []time.Duration
	for b.Loop() {
		plain = append(plain, timed(b, func() error { return toNowhere(b, img) }))
		// Each measurement has its own directory, which is removed after all measurements: ext4
		// without a journal creates files slowly for minutes after many were removed.
		dir := b.TempDir()
		unpack := func() error {
			root, err := rootfs.Unpack(b.Context(), img, rootfs.Options{Dir: dir})
			if err != nil {
				return err
			}
			return root.Close()
		}
		cold = append(cold, timed(b, unpack))
		warm = append(warm, timed(b, unpack))
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(cold).Seconds()/median(plain).Seconds(), "unpack/decompress")
	b.ReportMetric(median(cold).Seconds()*1e3, "ms-unpack")
	b.ReportMetric(median(plain).Seconds()*1e3, "ms-decompress")
	b.ReportMetric(float64(median(warm).Microseconds()), "µs-warm")
}

func timed(b *testing.B, do func() error) time.Duration {
	b.Helper()
	runtime.GC()
	start := time.Now()
	e2e.NoError(b, do())
	return time.Since(start)
}

func toNowhere(b *testing.B, img v1.Image) error {
	all, err := img.Layers()
	if err != nil {
		return err
	}
	for _, l := range all {
		left := int64(math.MaxInt64)
		plain, err := oci.Plain(b.Context(), l, &left)
		if err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, plain); err != nil {
			return err
		}
		if err := plain.Close(); err != nil {
			return err
		}
	}
	return nil
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}
