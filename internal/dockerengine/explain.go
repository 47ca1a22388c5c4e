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

// A ConnectionError says that an engine cannot be reached, or not any more.
type ConnectionError struct {
	Endpoint Endpoint
	text     string
	err      error
}

func (e *ConnectionError) Error() string { return e.text }
func (e *ConnectionError) Unwrap() error { return e.err }

// Explain turns an error that a request with ctx ended in into one sentence, with
// a hint where a next step is known. What the engine itself said keeps its words.
// An error of ctx becomes its cause; nil stays nil.
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
		return said{err}
	}
}

// isBroken tells errors of the connection from what the engine answered.
func isBroken(err error) bool {
	var op net.Error
	return client.IsErrConnectionFailed(err) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &op)
}

// innermost is what went wrong, without what tried it.
func innermost(err error) error {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err
		}
		err = next
	}
}

// said is what an engine answered, without the library's words before it.
type said struct{ error }

func (s said) Error() string {
	return strings.TrimPrefix(s.error.Error(), "Error response from daemon: ")
}
func (s said) Unwrap() error { return s.error }

// explainDial says why there is no connection.
func explainDial(at Endpoint, err error) error {
	because := func(text string) error {
		return &ConnectionError{at, fmt.Sprintf("connecting to %s: %s", at, text), err}
	}
	elsewhere := "start it, or say where one is by DOCKER_HOST or DOCKER_CONTEXT"
	switch {
	case errors.Is(err, fs.ErrPermission):
		group := groupOf(strings.TrimPrefix(at.Host, "unix://"))
		return hint.Wrap(because(fmt.Sprintf("permission denied; its socket is for the group %q", group)),
			fmt.Sprintf("add yourself to the group (sudo usermod -aG %s $USER) and log in again, or use an engine that runs without root", group))
	case errors.Is(err, fs.ErrNotExist):
		return hint.Wrap(because("there is no such socket"), elsewhere)
	case errors.Is(err, syscall.ECONNREFUSED):
		return hint.Wrap(because("nobody listens there"), elsewhere)
	case errors.Is(err, exec.ErrNotFound):
		return hint.Wrap(because("there is no command ssh"), "install an ssh client")
	default:
		return because(innermost(err).Error())
	}
}
