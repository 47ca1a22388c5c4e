package python

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"github.com/xfn-dev/xfn/internal/language"
	"github.com/xfn-dev/xfn/internal/language/python/resolve"
)

// jsonPage is the media type of an index in JSON (PEP 691).
const jsonPage = "application/vnd.pypi.simple.v1+json"

// errNoWheel is the error for an index without the wheels of a lock file.
var errNoWheel = errors.New("it has no wheel of this version with a digest of the lock file")

// find returns the wheels of a package that the first index with such a wheel has, and that
// have one of the hashes. It keeps the result in the cache, because the hashes fix it.
func (s *store) find(ctx context.Context, name, version string, hashes []string) ([]resolve.File, error) {
	var errs []error
	for _, index := range s.indexes {
		sum := sha256.Sum256(fmt.Append(nil, index.Host, index.Path, name, version, hashes))
		files, err := cached(filepath.Join(s.dir, indexFolder, fmt.Sprintf("%x.json", sum)), func(files []resolve.File) bool { return len(files) > 0 },
			func() ([]resolve.File, error) { return s.list(ctx, index.JoinPath(name, "/"), hashes) })
		if err == nil {
			return files, nil
		}
		errs = append(errs, fmt.Errorf("searching %s %s in the index %q: %w", name, version, index.Host, err))
		if status, ok := errors.AsType[*language.StatusError](err); !errors.Is(err, errNoWheel) && !(ok && status.Code == http.StatusNotFound) {
			break
		}
	}
	return nil, errors.Join(errs...)
}

// list returns the wheels on a page of an index that have one of the hashes.
func (s *store) list(ctx context.Context, page *url.URL, hashes []string) (files []resolve.File, err error) {
	resp, err := s.request(ctx, page, http.Header{"Accept": {jsonPage + ", application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"}})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxPage+1))
	if err != nil {
		return nil, language.WithoutURL(err)
	}
	if len(data) > maxPage {
		return nil, fmt.Errorf("the page of the index is larger than %d MiB", maxPage>>20)
	}
	all, err := ParsePage(resp.Request.URL, resp.Header.Get("Content-Type"), data)
	if err != nil {
		return nil, err
	}
	for _, f := range all {
		if slices.Contains(hashes, f.SHA256) && strings.HasSuffix(f.Name, ".whl") {
			files = append(files, f)
		}
	}
	if len(files) == 0 {
		return nil, errNoWheel
	}
	return files, nil
}

// ParsePage parses the page of a package in an index, in JSON or HTML (PEP 503). at is the
// URL of the page. It omits files without a SHA-256 sum.
func ParsePage(at *url.URL, mediaType string, data []byte) ([]resolve.File, error) {
	if kind, _, _ := mime.ParseMediaType(mediaType); kind == jsonPage {
		return parseJSON(at, data)
	}
	return parseHTML(at, data)
}

func parseJSON(at *url.URL, data []byte) ([]resolve.File, error) {
	var page struct {
		Files []struct {
			Filename, URL string
			Hashes        map[string]string
		}
	}
	if err := json.Unmarshal(data, &page); err != nil {
		return nil, fmt.Errorf("parsing the page: %w", err)
	}
	var all []resolve.File
	for _, f := range page.Files {
		u, err := at.Parse(f.URL)
		if err != nil {
			return nil, fmt.Errorf("the URL of %q is invalid", f.Filename)
		}
		if sum := f.Hashes["sha256"]; sum != "" {
			all = append(all, resolve.File{Name: f.Filename, URL: u.String(), SHA256: sum})
		}
	}
	return all, nil
}

func parseHTML(at *url.URL, data []byte) ([]resolve.File, error) {
	var all []resolve.File
	for tokens := html.NewTokenizer(bytes.NewReader(data)); ; {
		switch tokens.Next() {
		case html.ErrorToken:
			if err := tokens.Err(); !errors.Is(err, io.EOF) {
				return nil, fmt.Errorf("parsing the page: %w", err)
			}
			return all, nil
		case html.StartTagToken:
			t := tokens.Token()
			i := slices.IndexFunc(t.Attr, func(a html.Attribute) bool { return a.Key == "href" })
			if t.Data != "a" || i < 0 {
				continue
			}
			u, err := at.Parse(t.Attr[i].Val)
			if err != nil {
				continue
			}
			sum, ok := strings.CutPrefix(u.Fragment, "sha256=")
			u.Fragment = ""
			if ok {
				all = append(all, resolve.File{Name: path.Base(u.Path), URL: u.String(), SHA256: sum})
			}
		}
	}
}
