package main

import (
	"context"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"

	_ "github.com/xfn-dev/xfn/cmd/xfn/collector"
	"github.com/xfn-dev/xfn/internal/sandbox"
)

func main() {
	if code, is := sandbox.Supervise(os.Args); is {
		os.Exit(code)
	}
	// Discard the logs of libraries: net/http logs unexpected data of
	// servers, which may have credentials.
	log.SetOutput(io.Discard)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	// If the reader of a pipe exits, writing fails, and the process can
	// clean up.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	// A second signal ends the process at once.
	context.AfterFunc(ctx, stop)
	code := run(ctx, os.Args, os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
