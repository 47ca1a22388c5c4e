package language

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/proc"
)

const (
	defaultTries = 3
	defaultWait  = time.Second
)

// A StatusError is a response of a package registry that has no file.
type StatusError struct {
	Host string
	Code int
}

// Error implements error.
func (e *StatusError) Error() string {
	return fmt.Sprintf("registry %q answers %d %s", e.Host, e.Code, http.StatusText(e.Code))
}

// Retry calls try until it succeeds or fails with an error that is not temporary, at most
// tries times. 0 means 3 tries. Retry pauses for wait after the first try, or for a second
// with 0 tries, and for three times as long after each further try.
func Retry(ctx context.Context, tries int, wait time.Duration, try func() error) error {
	if tries == 0 {
		tries, wait = defaultTries, defaultWait
	}
	for {
		err := try()
		if tries--; err == nil || tries <= 0 || !isTemporary(err) || ctx.Err() != nil {
			return err
		}
		if err := proc.Sleep(ctx, wait); err != nil {
			return err
		}
		wait *= 3
	}
}

func isTemporary(err error) bool {
	if status, ok := errors.AsType[*StatusError](err); ok {
		return status.Code >= 500 || status.Code == http.StatusTooManyRequests || status.Code == http.StatusRequestTimeout
	}
	_, isNet := errors.AsType[net.Error](err)
	_, isOp := errors.AsType[*net.OpError](err)
	return isNet || isOp || errors.Is(err, io.ErrUnexpectedEOF)
}

// WithoutURL returns the cause of an error of http.Client, without the URL, which can have a
// password, or a signature of the server that a registry redirects to.
func WithoutURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
		if u, parseErr := url.Parse(e.URL); parseErr == nil {
			err = fmt.Errorf("sending a request to %q: %w", u.Host, e.Err)
		}
	}
	if _, unknown := errors.AsType[x509.UnknownAuthorityError](err); unknown {
		return hint.Wrap(err, "trust the CA of the registry with "+hint.CAFile)
	}
	return err
}

// CheckPlain returns an error if a request with credentials to u would not be encrypted. A
// server on this machine needs no encryption.
func CheckPlain(u *url.URL) error {
	ip := net.ParseIP(u.Hostname())
	if u.Scheme == "https" || u.Hostname() == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("credentials for %q are not sent by plain HTTP", u.Host)
}
