//go:build linux

package sandbox_test

import (
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/xfn-dev/xfn/internal/sandbox"
)

// BenchmarkStart takes the time from the start of a function to the first byte
// that it answers: in a sandbox, through its socket; and as a bare process. The
// program that supervises is this test program, so there are also the figures
// of its own empty start. One run makes all, side by side.
func BenchmarkStart(b *testing.B) {
	root := newRoot(b)
	self, err := exec.LookPath("/proc/self/exe")
	if err != nil {
		b.Fatal(err)
	}
	startInSandbox(b, root) // which copies the program to memory
	var sandboxed, bare, empty time.Duration
	for b.Loop() {
		sandboxed += startInSandbox(b, root)
		bare += startBare(b, root)
		begun := time.Now()
		if err := exec.Command(self, "-test.list=^$").Run(); err != nil {
			b.Fatal(err)
		}
		empty += time.Since(begun)
	}
	ms := func(d time.Duration) float64 { return d.Seconds() * 1000 / float64(b.N) }
	b.ReportMetric(ms(sandboxed), "sandbox-ms")
	b.ReportMetric(ms(bare), "bare-ms")
	b.ReportMetric(ms(empty), "empty-ms")
	b.ReportMetric(ms(sandboxed-bare-empty), "beyond-both-ms")
}

func startInSandbox(b *testing.B, root string) time.Duration {
	socket := filepath.Join(b.TempDir(), "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	spec := acting(root, "serve", ":9443")
	spec.Listener, spec.Port = l, 9443
	begun := time.Now()
	p, err := sandbox.Start(b.Context(), spec)
	if err != nil {
		b.Skip(err)
	}
	conn, err := net.Dial("unix", socket)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
		b.Fatal(err)
	}
	took := time.Since(begun)
	if err := p.Stop(); err != nil {
		b.Fatal(err)
	}
	return took
}

func startBare(b *testing.B, root string) time.Duration {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()
	cmd := exec.Command(filepath.Join(root, "hostile"), "serve", address)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	for {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			time.Sleep(500 * time.Microsecond)
			continue
		}
		if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
			b.Fatal(err)
		}
		conn.Close()
		break
	}
	took := time.Since(begun)
	if err := cmd.Process.Kill(); err != nil {
		b.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	return took
}
