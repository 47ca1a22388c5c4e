package runtimes_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/xfn-dev/xfn/function/grpc"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/runtimes"
)

func TestMakeSocketDir(t *testing.T) {
	parent := t.TempDir()
	dir := e2e.Must(runtimes.MakeSocketDir(parent))(t)
	info, err := os.Stat(dir.Path)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("got %v, %v: other users can enter the directory", info, err)
	}
	deep := filepath.Join(parent, strings.Repeat("d", 100))
	e2e.NoError(t, os.Mkdir(deep, 0o700))
	elsewhere := e2e.Must(runtimes.MakeSocketDir(deep))(t)
	if strings.HasPrefix(elsewhere.Path, deep) {
		t.Errorf("%q is too long for a socket", elsewhere.Path)
	}
	e2e.NoError(t, errors.Join(dir.Close(), elsewhere.Close()))
	e2e.Empty(t, deep)
	e2e.Error(t, "a missing parent directory is an error", e2e.Err(runtimes.MakeSocketDir(filepath.Join(parent, "absent"))))
}

// TestFunctionEnds checks that Await and RunFunction return how the function ended.
func TestFunctionEnds(t *testing.T) {
	client := e2e.Must(grpc.Dial("unix://"+filepath.Join(t.TempDir(), "nobody"), grpc.Options{}))(t)
	t.Cleanup(func() {
		e2e.NoError(t, client.Close())
	})
	done := make(chan struct{})
	f := &runtimes.LocalFunction{Client: client, Done: done, Ended: func() error { return errors.New("exit status 7") }}
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	time.AfterFunc(time.Millisecond, func() { cancel(enough) })
	e2e.ErrorIs(t, "Await returns the cause of its context", f.Await(ctx, time.Minute), enough)
	e2e.ErrorHas(t, "waiting ends at the timeout", f.Await(t.Context(), time.Nanosecond), "no answer within 1ns")
	close(done)
	e2e.ErrorHas(t, "waiting ends when the function has ended", f.Await(t.Context(), 0), "the function ended")
	e2e.Equal(t, "the error of a call says how the function ended", `calling function "f": exit status 7`, fmt.Sprint(e2e.Err(f.RunFunction(t.Context(), "f", &fnv1.RunFunctionRequest{}))))
}

// TestStartOnLoopbackPort checks that a process that asks for any port does not get the port of a
// function before the function listens.
func TestStartOnLoopbackPort(t *testing.T) {
	t.Parallel()
	for range 100 {
		e2e.NoError(t, runtimes.StartOnLoopback(t.Context(), func(address string) error {
			at, err := netip.ParseAddrPort(address)
			if err == nil && at.Port() > 32_767 {
				err = fmt.Errorf("systems give port %d to any process", at.Port())
			}
			return err
		}))
	}
}

func TestStartOnLoopback(t *testing.T) {
	t.Parallel()
	failed := errors.New("the function ended")
	for name, tc := range map[string]struct {
		reason string
		taken  int // the number of addresses that another process takes
		err    error
		tries  int
	}{
		"Free":   {"a function that starts is started once", 0, nil, 1},
		"Taken":  {"a function whose port was taken gets another one", 1, nil, 2},
		"Always": {"after three ports that were taken, the error of the function is returned", 3, failed, 3},
		"Broken": {"a function that fails with a free port is not started again", 0, failed, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen := map[string]bool{}
			err := runtimes.StartOnLoopback(t.Context(), func(address string) error {
				seen[address] = true
				if len(seen) > tc.taken {
					return tc.err
				}
				other, err := net.Listen("tcp4", address)
				if err != nil {
					return err
				}
				t.Cleanup(func() { other.Close() })
				return failed
			})
			if !errors.Is(err, tc.err) || len(seen) != tc.tries {
				t.Errorf("%s: got %d tries and %v", tc.reason, len(seen), err)
			}
		})
	}
}
