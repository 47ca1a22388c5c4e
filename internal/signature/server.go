package signature

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// A Server is a server with an HTTP API in JSON.
type Server struct {
	URL *url.URL
	// Transport sends the requests. Nil means http.DefaultTransport.
	Transport http.RoundTripper
}

// ParseServerURL parses the address of a server: http or https, without credentials.
func ParseServerURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("expected a URL such as https://HOST")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("expected a URL without a user, a query and a fragment")
	}
	return u, nil
}

const (
	// requestTimeout limits the time for a request. A log needs a few seconds to add an entry.
	requestTimeout = time.Minute
	// maxResponse limits the bytes of a response.
	maxResponse = 1 << 20
	// maxMessage limits the bytes of a server's message in an error.
	maxMessage = 200
)

// A ServerResponse is the response of a server.
type ServerResponse struct {
	Code   int
	Header http.Header
	Body   []byte
}

// Get requests a path below the URL of s. A response with a code that is not in codes is an
// error, which has the message of the server.
func (s Server) Get(ctx context.Context, path string, codes ...int) (ServerResponse, error) {
	req, err := http.NewRequest(http.MethodGet, s.URL.JoinPath(path).String(), nil)
	if err != nil {
		return ServerResponse{}, err
	}
	return s.Do(ctx, req, codes...)
}

// Post sends the JSON of content to a path below the URL of s, and returns as Get does.
func (s Server) Post(ctx context.Context, path string, content any, codes ...int) (ServerResponse, error) {
	raw, err := json.Marshal(content)
	if err != nil {
		return ServerResponse{}, fmt.Errorf("encoding the request: %w", err)
	}
	req, err := http.NewRequest(http.MethodPost, s.URL.JoinPath(path).String(), bytes.NewReader(raw))
	if err != nil {
		return ServerResponse{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	return s.Do(ctx, req, codes...)
}

// Do sends req, and returns as Get does. It follows no redirects.
func (s Server) Do(ctx context.Context, req *http.Request, codes ...int) (r ServerResponse, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	req.Header.Set("Accept", "application/json, text/plain, application/x-pem-file")
	client := http.Client{
		Transport:     s.Transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(req.WithContext(ctx))
	if err != nil {
		return r, explainRequest(err)
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse+1))
	if err != nil {
		return r, fmt.Errorf("reading the response: %w", explainRequest(err))
	}
	if len(body) > maxResponse {
		return r, fmt.Errorf("the response is larger than the limit of %d MiB", maxResponse>>20)
	}
	if !slices.Contains(codes, resp.StatusCode) {
		return r, fmt.Errorf("the server responded with %s%s", resp.Status, message(body))
	}
	return ServerResponse{resp.StatusCode, resp.Header, body}, nil
}

// explainRequest returns err without its chain, in which package remote would find an error of a
// registry, and without the URL of the request, which may contain secrets.
func explainRequest(err error) error {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err
	}
	switch {
	case errors.Is(err, context.Canceled):
		return context.Canceled
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("the server did not respond within %s", requestTimeout)
	}
	return fmt.Errorf("the server did not respond: %s", err.Error())
}

// message returns the message in the body of an error response: the JSON of Rekor and
// Fulcio has it in the field message.
func message(body []byte) string {
	var m struct{ Message string }
	_ = json.Unmarshal(body, &m) // Another body is shown as it is.
	text := strings.Join(strings.Fields(cmp.Or(m.Message, string(body))), " ")
	if len(text) > maxMessage {
		text = strings.ToValidUTF8(text[:maxMessage], "") + "…"
	}
	if text == "" {
		return ""
	}
	return fmt.Sprintf(": %q", text)
}
