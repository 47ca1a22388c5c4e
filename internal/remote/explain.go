package remote

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"regexp"
	"strings"
	"unicode"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/xfn-dev/xfn/internal/hint"
)

// Explain turns an error that work on ref ended in into one sentence for the
// user, with a hint where a next step is known. It never holds a credential,
// nor the query of a URL. The error itself stays in the chain. An error that
// is not about a registry keeps its words; nil stays nil.
func (c *Client) Explain(ref name.Reference, err error) error {
	if err == nil {
		return nil
	}
	text, next := c.describe(ref, err)
	err = &explained{text: text, err: err}
	if next == "" {
		return err
	}
	return hint.Wrap(err, next)
}

type explained struct {
	text string
	err  error
}

func (e *explained) Error() string { return e.text }
func (e *explained) Unwrap() error { return e.err }

// describe names the cause of err, the most telling first: a ping tries https
// and http, and its error holds both failures.
func (c *Client) describe(ref name.Reference, err error) (text, next string) {
	host := ref.Context().RegistryStr()
	var (
		before  *explained
		keys    *keychainError
		cert    *tls.CertificateVerificationError
		status  *transport.Error
		lookup  *net.DNSError
		timeout net.Error
		op      *net.OpError
		broken  textproto.ProtocolError
	)
	switch {
	case errors.Is(err, context.Canceled):
		return context.Canceled.Error(), ""
	case errors.As(err, &before):
		return before.text, hint.Of(err)
	case errors.As(err, &keys):
		return clean(keys), "check the Docker configuration: config.json in ~/.docker, or in the folder that DOCKER_CONFIG names"
	case errors.As(err, &cert):
		return fmt.Sprintf("the certificate of registry %q cannot be trusted: %s", host, clean(cert.Err)),
			"add its CA to the certificates that this machine trusts, or give --insecure-skip-tls-verify"
	case errors.As(err, &status):
		return c.describeStatus(ref, status)
	case errors.As(err, &lookup) && lookup.IsNotFound:
		return fmt.Sprintf("registry %q is not known: no such host", host), "check the spelling of the registry's name"
	case errors.As(err, &op) && op.Op != "dial":
		return fmt.Sprintf("the connection to registry %q broke: %s", host, clean(root(op))), ""
	case errors.As(err, &op):
		return fmt.Sprintf("registry %q cannot be reached: %s", host, clean(root(op))), "check the address, and that the registry runs"
	case errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Sprintf("registry %q does not answer: %s", host, clean(timeout)), "check the address, and that the registry runs"
	case errors.As(err, &broken):
		return fmt.Sprintf("registry %q sent a broken answer: %s", host, clean(broken)), ""
	case errors.Is(err, errManifestSize):
		return fmt.Sprintf("registry %q sent a manifest of more than %d MiB", host, maxManifest>>20), ""
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Sprintf("registry %q closed the connection early", host), ""
	case errors.Is(err, http.ErrSchemeMismatch):
		return fmt.Sprintf("registry %q speaks plain HTTP, which is used with loopback and private addresses only", host), "where its network can be trusted, the xpkg commands reach it with --plain-http"
	default:
		return clean(err), ""
	}
}

func (c *Client) describeStatus(ref name.Reference, e *transport.Error) (text, next string) {
	host := ref.Context().RegistryStr()
	login := fmt.Sprintf("log in with: docker login %s", host)
	switch e.StatusCode {
	case http.StatusUnauthorized:
		if auth, err := c.keychain.Resolve(ref.Context()); err == nil && auth == authn.Anonymous {
			return fmt.Sprintf("registry %q asks for credentials, and none are configured", host), login
		}
		return fmt.Sprintf("registry %q refused the credentials", host), login
	case http.StatusForbidden:
		return fmt.Sprintf("registry %q does not permit this%s", host, c.message(ref, e)), "use an account that may do this; " + login
	case http.StatusNotFound:
		lacks := "has no"
		if e.Request != nil && e.Request.Method == http.MethodGet && strings.Contains(e.Request.URL.Path, "/blobs/") {
			lacks = "lacks a blob of"
		}
		return fmt.Sprintf("registry %q %s %q%s", host, lacks, strings.TrimPrefix(ref.Name(), host+"/"), c.message(ref, e)), ""
	default:
		return fmt.Sprintf("registry %q answered %d %s%s", host, e.StatusCode, http.StatusText(e.StatusCode), c.message(ref, e)), ""
	}
}

// message is what the registry itself says in its error body (OCI distribution
// spec, "Error Codes"), unless it repeats a secret.
func (c *Client) message(ref name.Reference, e *transport.Error) string {
	var said []string
	for _, d := range e.Errors {
		said = append(said, strings.Trim(fmt.Sprintf("%s: %s", d.Code, d.Message), ": "))
	}
	whole := strings.Join(said, "; ")
	text := clean(errors.New(whole))
	if text == "" || c.repeatsSecret(whole, ref, e.Request) {
		return ""
	}
	return " (" + text + ")"
}

const maxText = 500

var queries = regexp.MustCompile(`\?[^\s"'` + "`" + `]*`)

// clean returns the text of an error as one short line. It drops what may hold
// a secret: the query of a URL, the output of a credential helper, and all
// lines but the first, as they are taken from an answer.
func clean(err error) string {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	text, _, _ = strings.Cut(text, ", out: `")
	text = queries.ReplaceAllString(text, "")
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + "…"
	}
	return strings.TrimRight(text, ": ")
}

// root is the innermost cause: of a connection that failed, "connection
// refused".
func root(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}
