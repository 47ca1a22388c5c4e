package clone

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
)

// A location is a path of this machine, or an endpoint. Credentials are not in
// the endpoint, so that no error can tell them.
type location struct {
	path     string
	endpoint *transport.Endpoint
	auth     transport.AuthMethod
}

// locate tells paths from URLs as git does: a colon before any slash makes
// host:path. It repeats nothing of a URL that it refuses, since there is no
// telling what in it is secret.
func locate(raw string) (location, error) {
	if !strings.Contains(raw, "://") {
		return locatePlain(raw)
	}
	u, err := url.Parse(raw)
	if err != nil {
		return location{}, errors.New("it is not a valid URL")
	}
	switch u.Scheme {
	case "file":
		return location{path: filePath(u.Path)}, nil
	case "http", "https":
		if u.RawQuery != "" || u.Fragment != "" {
			return location{}, errors.New("a repository's URL ends with its path, without ? or #")
		}
	case "ssh", "git":
	default:
		return location{}, fmt.Errorf("a repository is reached by https, http, ssh, git or file, not by %q", u.Scheme)
	}
	if u.Host == "" {
		return location{}, errors.New("the URL names no host")
	}
	return remoteLocation(raw)
}

func locatePlain(raw string) (location, error) {
	before, _, colon := strings.Cut(raw, ":")
	if !colon || strings.Contains(before, "/") || filepath.VolumeName(raw) != "" {
		path, err := filepath.Abs(raw)
		return location{path: path}, err
	}
	return remoteLocation(raw)
}

func remoteLocation(raw string) (location, error) {
	ep, err := transport.NewEndpoint(raw)
	if err != nil || ep.Protocol == "file" {
		return location{}, errors.New("it is not a valid URL")
	}
	at := location{endpoint: ep}
	if strings.HasPrefix(ep.Protocol, "http") && (ep.User != "" || ep.Password != "") {
		at.auth = &githttp.BasicAuth{Username: ep.User, Password: ep.Password}
		ep.User = ""
	}
	ep.Password = ""
	return at, nil
}

// filePath turns the path of a file URL, /C:/x on Windows, into one of the
// system.
func filePath(path string) string {
	if runtime.GOOS == "windows" {
		path = strings.TrimPrefix(path, "/")
	}
	return filepath.FromSlash(path)
}

// Redact returns raw without its credentials, for people to read. The user of
// an ssh URL is none. What has no credentials comes back as it is.
func Redact(raw string) string {
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok {
		return redactHostPath(raw)
	}
	u, err := url.Parse(raw)
	if err != nil {
		// A secret that was not escaped may end anywhere before the last @.
		return scheme + "://" + rest[strings.LastIndex(rest, "@")+1:]
	}
	isHTTP := u.Scheme == "http" || u.Scheme == "https"
	_, password := u.User.Password()
	switch {
	case isHTTP && (u.User != nil || u.RawQuery != "" || u.Fragment != ""):
		u.User, u.RawQuery, u.Fragment = nil, "", ""
	case password:
		u.User = url.User(u.User.Username())
	default:
		return raw
	}
	return u.String()
}

// redactHostPath is Redact for user@host:path and for paths.
func redactHostPath(raw string) string {
	user, rest, ok := strings.Cut(raw, "@")
	name, _, colon := strings.Cut(user, ":")
	if !ok || !colon || strings.Contains(user, "/") || filepath.VolumeName(raw) != "" {
		return raw
	}
	return name + "@" + rest
}
