package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	quantity "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/klog/v2"

	_ "github.com/xfn-dev/xfn/cmd/xfn/startup"
	"github.com/xfn-dev/xfn/internal/sandbox"
)

func main() {
	// Discard the logs of libraries: net/http logs unexpected data of
	// servers, which may have credentials. The libraries of Kubernetes log what they also return.
	log.SetOutput(io.Discard)
	klog.SetSlogLogger(slog.New(slog.DiscardHandler))
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it, so that the program outlives its terminal.
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	// Receive SIGPIPE, which would otherwise kill the process: writing to a pipe
	// without a reader then returns EPIPE, and the process can clean up.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	// Handle only the first signal: a second one ends the process at once.
	context.AfterFunc(ctx, stop)
	code := run(ctx, os.Args, os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// A memoryLimit is the value of --memory-limit in bytes, 0 if the flag is not given.
type memoryLimit int64

// UnmarshalText implements encoding.TextUnmarshaler.
func (l *memoryLimit) UnmarshalText(text []byte) error {
	q, err := quantity.ParseQuantity(string(text))
	const least = 16 << 20 // No command needs less.
	if err != nil || q.Value() < least {
		return fmt.Errorf("expected at least 16Mi, such as 2Gi, got %q", text)
	}
	*l = memoryLimit(q.Value())
	return nil
}

// bytes returns the limit: by default 4 GiB or half of the machine's memory,
// whichever is less. A limit of the process's control group, or what its limit of virtual
// memory leaves (ulimit -v), counts as the machine's memory. If the memory is unknown, the
// limit is 4 GiB.
func (l memoryLimit) bytes() int64 {
	if l > 0 {
		return int64(l)
	}
	limit := int64(4 << 30)
	mounts, mountsErr := os.ReadFile("/proc/self/mountinfo")
	own, ownErr := os.ReadFile("/proc/self/cgroup")
	machine := []int64{machineMemory(), virtualMemory()}
	if mountsErr == nil && ownErr == nil {
		machine = append(machine, sandbox.MemoryLimit(string(mounts), string(own)))
	}
	for _, bytes := range machine {
		if bytes > 0 {
			limit = min(limit, bytes/2)
		}
	}
	return limit
}

// virtualMemory returns how many bytes of virtual memory the process may still map. It is
// known on Linux only, and 0 elsewhere or without a limit.
func virtualMemory() int64 {
	limit := numberIn("/proc/self/limits", "\nMax address space")
	if limit == 0 {
		return 0 // The limit can be "unlimited".
	}
	const least = 128 << 20 // an ordinary command needs half of it
	return max(limit-numberIn("/proc/self/statm", "")*int64(os.Getpagesize()), least)
}

// machineMemory returns the total memory of the machine in bytes. It is known on
// Linux only, and 0 elsewhere.
func machineMemory() int64 { return numberIn("/proc/meminfo", "MemTotal:") << 10 }

// numberIn returns the number after a text in a file, or 0.
func numberIn(path, before string) (n int64) {
	text, _ := os.ReadFile(path)
	_, rest, _ := strings.Cut(string(text), before)
	_, _ = fmt.Sscan(rest, &n)
	return n
}
