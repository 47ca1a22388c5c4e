package dockerengine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os/exec"
	"strings"
	"syscall"

	"github.com/moby/moby/client"

	"github.com/xfn-dev/xfn/internal/hint"
)

// A ConnectionError says that an engine is unreachable, or that the connection to it broke.
type ConnectionError struct {
	Endpoint Endpoint
	text     string
	err      error
}

func (e *ConnectionError) Error() string { return e.text }
func (e *ConnectionError) Unwrap() error { return e.err }

// Explain converts the error of a request with ctx to one sentence, with a hint if the
// user's next action is known. It does not change messages of the engine. If ctx is done,
// Explain returns the cause of ctx. Explain(ctx, nil) is nil.
func (e *Engine) Explain(ctx context.Context, err error) error {
	switch failure := e.dialer.failure(); {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case isBroken(err) && failure != nil:
		return explainDial(e.endpoint, failure)
	case isBroken(err):
		return &ConnectionError{e.endpoint, fmt.Sprintf("the connection to %s broke: %v", e.endpoint, innermost(err)), err}
	default:
		return engineError{err}
	}
}

// isBroken reports whether err is about the connection, and not an answer of the engine.
func isBroken(err error) bool {
	return client.IsErrConnectionFailed(err) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, new(net.Error))
}

func innermost(err error) error {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err
		}
		err = next
	}
}

// An engineError is an error that the engine returned. Its text omits the prefix that the
// client library adds.
type engineError struct{ error }

func (s engineError) Error() string {
	return strings.TrimPrefix(s.error.Error(), "Error response from daemon: ")
}
func (s engineError) Unwrap() error { return s.error }

// explainDial returns a ConnectionError that says why a dial to the engine failed with
// err, with a hint if the user's next action is known.
func explainDial(at Endpoint, err error) error {
	because := func(text string) error {
		return &ConnectionError{at, fmt.Sprintf("connecting to %s: %s", at, text), err}
	}
	elsewhere := "start the engine, or set DOCKER_HOST or DOCKER_CONTEXT"
	switch {
	case errors.Is(err, fs.ErrPermission):
		group := groupOf(strings.TrimPrefix(at.Host, "unix://"))
		return hint.Wrap(because(fmt.Sprintf("permission denied; the group of the socket is %q", group)),
			fmt.Sprintf("add yourself to the group (sudo usermod -aG %s $USER) and log in again, or use an engine that runs without root", group))
	case errors.Is(err, fs.ErrNotExist):
		return hint.Wrap(because("the socket does not exist"), elsewhere)
	case errors.Is(err, syscall.ECONNREFUSED):
		return hint.Wrap(because("connection refused"), elsewhere)
	case errors.Is(err, exec.ErrNotFound):
		return hint.Wrap(because("command ssh not found"), "install an ssh client")
	default:
		return because(innermost(err).Error())
	}
}
