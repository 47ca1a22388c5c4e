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
	"strings"
	"syscall"
	"unicode"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/remote/credentials"
)

// Explain returns err with a text that describes it for users in one sentence, and with a
// hint if a next step is known. ref is the image reference of the failed operation. The
// text contains no credentials and no query of a URL. The result wraps err. If err is not
// about a registry, Explain keeps its text. If err is nil, Explain returns nil.
func (c *Client) Explain(ref name.Reference, err error) error {
	if err == nil {
		return nil
	}
	text, next := c.describe(ref, err)
	if next == "" && c.plain && errors.As(err, new(*url.Error)) && !errors.Is(err, context.Canceled) {
		next = "the registry may require HTTPS: leave out " + hint.PlainHTTP
	}
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

// Explained reports whether err wraps an error that Explain returned, and is not about a file of
// this machine, such as a full disk.
func Explained(err error) bool {
	local := errors.As(err, new(syscall.Errno)) && !errors.As(err, new(*net.OpError))
	return errors.As(err, new(*explained)) && !local
}

func (e *explained) Error() string { return e.text }
func (e *explained) Unwrap() error { return e.err }

// describe returns the text and the hint for err. It uses the most specific error in the
// chain of err: after a failed ping, for example, the chain contains the errors of both
// HTTPS and HTTP.
func (c *Client) describe(ref name.Reference, err error) (text string, next hint.Hint) {
	host := ref.Context().RegistryStr()
	var (
		before  *explained
		keys    *keychainError
		cert    *tls.CertificateVerificationError
		status  *transport.Error
		lookup  *net.DNSError
		idle    idleTimeoutError
		timeout net.Error
		op      *net.OpError
		broken  textproto.ProtocolError
		target  *targetError
		sent    *url.Error
		short   *shortError
		slow    slowError
	)
	switch {
	case errors.Is(err, context.Canceled):
		return context.Canceled.Error(), ""
	case errors.As(err, &before):
		return before.text, hint.Of(err)
	case errors.As(err, &keys):
		return c.clean(keys), hint.Of(keys)
	case errors.As(err, &target):
		return c.clean(target), hint.Of(target.error)
	case errors.As(err, &cert):
		next = "give the file of its CA with " + hint.CAFile + ", or skip the check with " + hint.InsecureSkipTLSVerify
		text = fmt.Sprintf("the certificate of registry %q cannot be trusted: %s", host, c.clean(cert.Err))
		if variable, problem := c.env.certificates(); problem != "" {
			text, next = text+"; "+problem, hint.Hint("correct "+variable+", or ")+next
		}
		return text, next
	case errors.As(err, &status):
		return c.describeStatus(ref, status)
	case errors.As(err, &idle):
		next = "check the address, and that the registry runs"
		if c.patient {
			next += ", or give it more time with " + hint.IdleTimeout
		}
		return fmt.Sprintf("registry %q does not answer: %s", host, idle), next
	case errors.As(err, &op) && op.Op == "proxyconnect":
		return fmt.Sprintf("the proxy for registry %q cannot be reached: %s", host, c.clean(op.Err)),
			hint.Hint(fmt.Sprintf("correct the proxy (%s, %s), or name hosts without a proxy in %s", c.env.name("HTTPS_PROXY"), c.env.name("HTTP_PROXY"), c.env.name("NO_PROXY")))
	case errors.As(err, &lookup) && lookup.IsNotFound && lookup.Name != (&url.URL{Host: host}).Hostname():
		return fmt.Sprintf("registry %q points to %q, which is not known: no such host", host, c.clean(errors.New(lookup.Name))), ""
	case errors.As(err, &lookup) && lookup.IsNotFound:
		return fmt.Sprintf("registry %q is not known: no such host", host), "check the spelling of the registry's name, the network and the proxy (" + hint.Hint(c.env.name("HTTPS_PROXY")) + ")"
	case errors.As(err, &op) && op.Op != "dial":
		return fmt.Sprintf("the connection to registry %q broke: %s", host, c.clean(root(op))), ""
	case errors.As(err, &op):
		return fmt.Sprintf("registry %q cannot be reached: %s", host, c.clean(root(op))), "check the address, and that the registry runs"
	case errors.As(err, &slow):
		return fmt.Sprintf("registry %q is too slow: %s", host, slow), "check the connection, or use a mirror of the registry"
	case errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Sprintf("registry %q does not answer: %s", host, c.clean(timeout)), "check the address, and that the registry runs"
	case errors.As(err, &broken):
		return fmt.Sprintf("registry %q sent a malformed response: %s", host, c.clean(broken)), ""
	case errors.Is(err, errSize):
		return fmt.Sprintf("registry %q sent a manifest or list of more than %d MiB", host, oci.MaxManifest>>20), ""
	case errors.As(err, &short):
		return fmt.Sprintf("registry %q closed the connection early: %s", host, short), ""
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Sprintf("registry %q closed the connection early", host), ""
	case errors.Is(err, http.ErrSchemeMismatch):
		return fmt.Sprintf("registry %q uses plain HTTP, which is allowed only for loopback and private addresses", host), "if you trust its network, allow plain HTTP with " + hint.PlainHTTP
	case errors.As(err, &sent):
		return fmt.Sprintf("the request to registry %q failed: %s", host, c.clean(sent)), ""
	default:
		return c.clean(err), ""
	}
}

func (c *Client) describeStatus(ref name.Reference, e *transport.Error) (text string, next hint.Hint) {
	host := ref.Context().RegistryStr()
	from := c.keychain.origin(ref.Context())
	source := from.Source
	of, as, access := " of "+source, " with the credentials of "+source, login(host, from.Advice)
	switch source {
	case anonymous:
		of, as = "", " without credentials"
		if k, ok := c.keychain.inner.(*credentials.Keychain); ok {
			if err := k.Overlooked(); err != nil {
				of, as, access = ": "+err.Error(), as+" ("+err.Error()+")", hint.Of(err)+", or "+access
			}
		}
	case unnamed:
		of, as = "", ""
	}
	switch text := strings.ToLower(e.Error()); {
	case e.StatusCode == http.StatusUnauthorized && source == anonymous:
		return fmt.Sprintf("registry %q asks for credentials, and none are configured%s", host, of), access
	case e.StatusCode == http.StatusUnauthorized:
		return fmt.Sprintf("registry %q refused the credentials%s", host, of), access
	case e.StatusCode == http.StatusForbidden:
		return fmt.Sprintf("registry %q denied access%s%s", host, as, c.message(e)), "use an account that has the permission; " + access
	case e.StatusCode == http.StatusNotFound:
		return c.describeMissing(ref, e)
	// The TLS servers of Go and nginx send this response to a plain HTTP request.
	case e.StatusCode == http.StatusBadRequest &&
		(strings.Contains(text, "http request to an https server") || strings.Contains(text, "http request was sent to https port")):
		return fmt.Sprintf("registry %q requires HTTPS, but the request used plain HTTP", host), "leave out " + hint.PlainHTTP
	case isBusy(e.StatusCode):
		next = "run the command again later"
	case e.StatusCode < 300:
		next = "check the host and the port: the server is not a registry, or a proxy answers for it"
	}
	return fmt.Sprintf("registry %q answered %d %s%s", host, e.StatusCode, http.StatusText(e.StatusCode), c.message(e)), next
}

// describeMissing returns the text and the hint for a repository, manifest or blob that a
// registry does not have.
func (c *Client) describeMissing(ref name.Reference, e *transport.Error) (text string, next hint.Hint) {
	host := ref.Context().RegistryStr()
	path := ""
	if e.Request != nil && e.Request.Method == http.MethodGet {
		path = e.Request.URL.Path
	}
	switch {
	case path == "/v2/":
		return fmt.Sprintf("%q is not a registry: GET /v2/ returns 404 Not Found", host), "check the host and the port"
	case strings.Contains(path, "/blobs/"):
		return fmt.Sprintf("registry %q lacks a blob of %q%s", host, strings.TrimPrefix(ref.Name(), host+"/"), c.message(e)), ""
	case strings.HasSuffix(path, "/tags/list"):
		return fmt.Sprintf("registry %q has no repository %q%s", host, ref.Context().RepositoryStr(), c.message(e)), "check the spelling of the repository"
	default:
		return fmt.Sprintf("registry %q has no %q%s", host, strings.TrimPrefix(ref.Name(), host+"/"), c.message(e)), "check the spelling of the repository and the tag"
	}
}

// login returns the hint that says how to log in with other credentials, after the advice about the
// refused credentials.
func login(host string, advice hint.Hint) hint.Hint {
	if host == name.DefaultRegistry {
		host = "docker.io"
	}
	next := hint.Hint("log in with: docker login " + host)
	if advice != "" {
		return advice + ", or " + next
	}
	return next
}

// message returns the error messages in a registry's response (OCI distribution spec,
// "Error Codes"), in parentheses. It returns "" if a message contains a credential that was
// sent.
func (c *Client) message(e *transport.Error) string {
	var messages []string
	for _, d := range e.Errors {
		messages = append(messages, strings.Trim(fmt.Sprintf("%s: %s", d.Code, d.Message), ": "))
	}
	whole := strings.Join(messages, "; ")
	text := c.clean(errors.New(whole))
	if text == "" || c.sent.in(whole) {
		return ""
	}
	return " (" + text + ")"
}

const maxText = 500

var queries = proc.Regexp(`\?[^\s"'` + "`" + `]*`)

// clean returns the text of an error as one short line. It removes queries of URLs and all
// lines but the first, because both may contain secrets. If the text contains a credential
// that was sent, clean returns a text that says so instead.
func (c *Client) clean(err error) string {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if c.sent.in(err.Error()) {
		return "the message contains the credentials and is not shown"
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	text = queries().ReplaceAllString(text, "")
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

// root returns the innermost error that err wraps, such as "connection refused".
func root(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}
