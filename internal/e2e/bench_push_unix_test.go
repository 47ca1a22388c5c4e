//go:build unix

package e2e_test

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
	"github.com/xfn-dev/xfn/xpkg"
)

// BenchmarkPush pushes a package of about 550 MiB in four layers to an empty
// registry on this machine: the Docker registry and that of xfn. Pushes alternate
// with one plain upload of the same bytes. It reports the medians s-push and s-plain,
// their ratio x-plain (goal: below 1.2), and ms-again for a push of the same package
// again (goal: below 100). MiB-peak is the peak memory of a push (goal: below 60).
func BenchmarkPush(b *testing.B) {
	overRegistries(b, "push", func(b *testing.B, s benchSite, t benchTimes) (peak int64) {
		t.byTurns(func() time.Duration {
			began := time.Now()
			s.upload(b)
			return time.Since(began)
		}, func() (took time.Duration) {
			took, peak = s.run(b, "xpkg", "push", "-q", "-f", s.file, s.ref)
			return took
		})
		for range 5 {
			took, _ := s.run(b, "xpkg", "push", "-q", "-f", s.file, s.ref)
			t["again"] = append(t["again"], took)
		}
		return peak
	})
}

// BenchmarkPull pulls the package of BenchmarkPush. Pulls alternate with plain HTTP
// requests that write the same blobs to a file. It reports the medians s-pull and
// s-plain, their ratio x-plain, and the peak memory MiB-peak.
func BenchmarkPull(b *testing.B) {
	overRegistries(b, "pull", func(b *testing.B, s benchSite, t benchTimes) (peak int64) {
		s.run(b, "xpkg", "push", "-q", "-f", s.file, s.ref)
		b.Setenv("XFN_CACHE_DIR", filepath.Join(s.dir, "cache"))
		t.byTurns(func() time.Duration {
			began := time.Now()
			s.download(b)
			return time.Since(began)
		}, func() (took time.Duration) {
			took, peak = s.run(b, "xpkg", "pull", "-q", s.ref, "-o", filepath.Join(s.dir, "out.xpkg"))
			return took
		})
		return peak
	})
}

// A benchSite is an empty registry, and a package for it.
type benchSite struct {
	xfn, file, dir, host, ref string
	// digest is the digest of the file.
	digest string
	blobs  []v1.Descriptor
}

// benchTimes are durations by name.
type benchTimes map[string][]time.Duration

// byTurns measures two functions in alternating order, so that data that one
// has not yet flushed to the disk does not always slow the other.
func (t benchTimes) byTurns(plain, ours func() time.Duration) {
	first := len(t["plain"])%2 == 0
	if first {
		t["plain"] = append(t["plain"], plain())
	}
	t["ours"] = append(t["ours"], ours())
	if !first {
		t["plain"] = append(t["plain"], plain())
	}
}

// overRegistries runs rounds with each kind of registry, and reports the medians.
func overRegistries(b *testing.B, what string, round func(*testing.B, benchSite, benchTimes) int64) {
	b.Helper()
	s := benchSite{xfn: e2e.Binary(b)}
	s.file, s.blobs = benchPackage(b, s.xfn)
	s.digest = "sha256:" + fileSum(b, s.file)
	for name, serve := range map[string]func(b *testing.B, xfn, dir string) string{"docker-registry": serveDocker, "ours": serveOurs} {
		b.Run(name, func(b *testing.B) {
			times := benchTimes{}
			var peak int64
			for b.Loop() {
				for range benchRounds + 1 { // An even number, so that plain and ours are first equally often.
					s := s
					s.dir = b.TempDir()
					s.host = serve(b, s.xfn, filepath.Join(s.dir, "registry"))
					s.ref = s.host + "/acme/bench:v1"
					peak = max(peak, round(b, s, times))
					if err := os.RemoveAll(s.dir); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(peak)/(1<<20), "MiB-peak")
			b.ReportMetric(middle(times["ours"]).Seconds(), "s-"+what)
			b.ReportMetric(middle(times["plain"]).Seconds(), "s-plain")
			b.ReportMetric(middle(times["ours"]).Seconds()/middle(times["plain"]).Seconds(), "x-plain")
			if again := times["again"]; len(again) > 0 {
				b.ReportMetric(float64(middle(again).Microseconds())/1000, "ms-again")
			}
		})
	}
}

// benchPackage builds the package, and returns its blobs.
func benchPackage(b *testing.B, xfn string) (file string, blobs []v1.Descriptor) {
	b.Helper()
	dir := b.TempDir()
	_, zipped := benchRuntime(b, dir)
	layout, pkg := filepath.Join(dir, "layout.tar"), filepath.Join(dir, "package")
	writeLayout(b, layout, zipped, types.OCILayer)
	meta := "apiVersion: meta.pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: bench}\nspec: {}\n"
	if err := errors.Join(os.Mkdir(pkg, 0o755), os.WriteFile(filepath.Join(pkg, "crossplane.yaml"), []byte(meta), 0o600)); err != nil {
		b.Fatal(err)
	}
	file = filepath.Join(b.TempDir(), "bench.xpkg")
	buildOnce(b, xfn, "xpkg", "build", "-q", "-f", pkg, "--embed-runtime-image-tarball", layout, "-o", file)
	if err := os.RemoveAll(dir); err != nil {
		b.Fatal(err)
	}
	f, err := xpkg.Open(b.Context(), file)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	img, ok := f.Artifact.(v1.Image)
	if !ok {
		b.Fatal("the package is not an image")
	}
	m, err := img.Manifest()
	if err != nil {
		b.Fatal(err)
	}
	return file, append(m.Layers, m.Config)
}

func fileSum(b *testing.B, path string) string {
	b.Helper()
	f, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	h, _, err := v1.SHA256(f)
	if err != nil {
		b.Fatal(err)
	}
	return h.Hex
}

func serveDocker(b *testing.B, _, dir string) string {
	return remotetest.Distribution{Dir: dir}.Start(b)
}

// serveOurs serves the registry of xfn until the benchmark ends.
func serveOurs(b *testing.B, xfn, dir string) string {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), xfn, "registry", "serve", "--address", "127.0.0.1:0", "--dir", dir)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(strings.TrimPrefix(line, "listening on "))
}

// run runs xfn, and returns the duration and the peak memory of the process. The
// system's figure for a child may include the memory of this process, so run reads
// the peak from /proc on Linux.
func (s benchSite) run(b *testing.B, args ...string) (took time.Duration, peak int64) {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), s.xfn, args...)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	began := time.Now()
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- cmd.Wait() }()
	for ask := time.NewTicker(5 * time.Millisecond); ; {
		select {
		case <-ask.C:
			peak = max(peak, highWater(cmd.Process.Pid))
		case err := <-ended:
			ask.Stop()
			if err != nil {
				b.Fatalf("%v: %v\n%s", args, err, &out)
			}
			return time.Since(began), cmp.Or(peak, maxRSS(cmd.ProcessState))
		}
	}
}

// highWater returns the peak memory of a process in bytes (VmHWM, proc(5)), or
// 0 if it cannot be read.
func highWater(pid int) (bytes int64) {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	_, _ = fmt.Sscan(rest, &bytes)
	return bytes * 1024
}

// upload sends the package's file as one blob, with chunked transfer encoding.
func (s benchSite) upload(b *testing.B) {
	b.Helper()
	began := s.do(b, http.MethodPost, "http://"+s.host+"/v2/acme/plain/blobs/uploads/", nil, nil)
	f, err := os.Open(s.file)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	sent := s.do(b, http.MethodPatch, s.location(b, began), onlyReader{f}, nil)
	end := s.location(b, sent)
	join := "?"
	if strings.Contains(end, "?") {
		join = "&"
	}
	s.do(b, http.MethodPut, end+join+"digest="+s.digest, nil, nil)
}

// download downloads all blobs of the package, one after another, into a file.
func (s benchSite) download(b *testing.B) {
	b.Helper()
	f, err := os.Create(filepath.Join(s.dir, "plain"))
	if err != nil {
		b.Fatal(err)
	}
	for _, d := range s.blobs {
		s.do(b, http.MethodGet, fmt.Sprintf("http://%s/v2/acme/bench/blobs/%s", s.host, d.Digest), nil, f)
	}
	if err := errors.Join(f.Close(), os.Remove(f.Name())); err != nil {
		b.Fatal(err)
	}
}

// An onlyReader hides the size of a file, so that net/http sends it with chunked
// transfer encoding.
type onlyReader struct{ io.Reader }

// do makes a request, which must succeed, and writes the response to w.
func (benchSite) do(b *testing.B, method, url string, body io.Reader, w io.Writer) *http.Response {
	b.Helper()
	req, err := http.NewRequestWithContext(b.Context(), method, url, body)
	if err != nil {
		b.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	if w == nil {
		w = io.Discard
	}
	if _, err := io.CopyBuffer(onlyWriter{w}, resp.Body, make([]byte, 1<<20)); err != nil || resp.StatusCode >= http.StatusBadRequest {
		b.Fatalf("%s %s: %s, %v", method, url, resp.Status, err)
	}
	return resp
}

func (s benchSite) location(b *testing.B, resp *http.Response) string {
	b.Helper()
	at, err := resp.Request.URL.Parse(resp.Header.Get("Location"))
	if err != nil {
		b.Fatal(err)
	}
	return at.String()
}
