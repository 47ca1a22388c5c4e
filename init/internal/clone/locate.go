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

// A location is a path on this machine, or an endpoint. The endpoint has no credentials,
// so that they are in no error.
type location struct {
	path     string
	endpoint *transport.Endpoint
	auth     transport.AuthMethod
}

// locate parses paths and URLs as git does: a colon before any slash means host:path.
// Its errors have no part of the URL, which may be a secret.
func locate(raw string) (location, error) {
	if !strings.Contains(raw, "://") {
		before, _, colon := strings.Cut(raw, ":")
		if !colon || strings.Contains(before, "/") || filepath.VolumeName(raw) != "" {
			path, err := filepath.Abs(raw)
			return location{path: path}, err
		}
		return remoteLocation(raw)
	}
	u, err := url.Parse(raw)
	if err != nil {
		return location{}, errors.New("it is not a valid URL")
	}
	switch u.Scheme {
	case "file":
		path := u.Path
		if runtime.GOOS == "windows" {
			path = strings.TrimPrefix(path, "/") // of /C:/x
		}
		return location{path: filepath.FromSlash(path)}, nil
	case "http", "https":
		if u.RawQuery != "" || u.Fragment != "" {
			return location{}, errors.New("the URL of a repository ends with its path, without ? or #")
		}
	case "ssh", "git":
	default:
		return location{}, fmt.Errorf("a repository is accessed by https, http, ssh, git or file, not by %q", u.Scheme)
	}
	if u.Host == "" {
		return location{}, errors.New("the URL names no host")
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

// Redact returns raw without its credentials. The user of an ssh URL is not one.
func Redact(raw string) string {
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok { // raw is a path, or user@host:path.
		user, rest, ok := strings.Cut(raw, "@")
		name, _, colon := strings.Cut(user, ":")
		if !ok || !colon || strings.Contains(user, "/") || filepath.VolumeName(raw) != "" {
			return raw
		}
		return name + "@" + rest
	}
	u, err := url.Parse(raw)
	if err != nil {
		// An unescaped secret may end anywhere before the last @.
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
