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
	// What libraries log by themselves is not for the user: net/http repeats what
	// a server says unasked, which may be the credentials that it was sent.
	log.SetOutput(io.Discard)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	// A reader that goes away makes writing fail, and does not kill: there is
	// cleaning up to do.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	// A second signal ends the process at once, whatever hangs.
	context.AfterFunc(ctx, stop)
	code := run(ctx, os.Args, os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
