package suite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/session"
)

// sessions has one session for each set of functions: cases with the same
// functions use the same session, so that a function is started once.
type sessions struct {
	config session.Config

	mu   sync.Mutex
	open map[string]*session.Session
	// used are the functions that the pipelines of all cases call. A case need not call all
	// functions for which packages are given.
	used []string
}

// newSessions returns sessions with this configuration. Unless the configuration has Used, close
// warns of packages of functions that no case calls.
func newSessions(config session.Config) *sessions {
	s := &sessions{config: config, open: map[string]*session.Session{}}
	if config.Used == nil {
		s.config.Used = func(functions []string) {
			s.mu.Lock()
			defer s.mu.Unlock()
			for _, name := range functions {
				if !slices.Contains(s.used, name) {
					s.used = append(s.used, name)
				}
			}
		}
	}
	return s
}

func (s *sessions) forFunctions(ctx context.Context, a *attempt) (*session.Session, error) {
	docs, err := a.documents(ctx, a.form.Functions, "functions")
	if err != nil {
		return nil, fmt.Errorf("loading functions: %w", err)
	}
	key := identity(docs)
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.open[key]; ok {
		return known, nil
	}
	config := s.config
	switch sources := a.form.Functions; {
	case len(sources) == 1 && sources[0].Object == nil:
		config.Functions = a.path(sources[0].File)
	case len(docs) > 0:
		config.Functions = a.inline.keep("the functions of "+a.item.Suite.Path, docs)
	}
	s.open[key] = session.Open(config)
	return s.open[key], nil
}

// packagePath matches the package of a Function that is the path of a folder or file.
var packagePath = proc.Regexp(`package["']?\s*:\s*["']?[./]`)

// identity returns a key for a set of functions. It does not depend on the file
// that docs were read from, unless a package is a path relative to it.
func identity(docs []manifest.Document) string {
	var b strings.Builder
	for _, doc := range docs {
		if bytes.Contains(doc.Text, []byte(".xpkg")) || packagePath().Match(doc.Text) {
			b.WriteString(filepath.Dir(doc.Path))
		}
		b.WriteByte(0)
		b.Write(doc.Text)
		b.WriteByte(0)
	}
	return b.String()
}

// close stops the sessions. If all cases ran, it warns of packages of functions that no case calls.
func (s *sessions) close(ctx context.Context, allRan bool) error {
	err := s.stop(ctx)
	if allRan && len(s.used) > 0 { // A case was loaded.
		session.WarnUnused(s.config.Progress, s.config.Packages, s.used)
	}
	return err
}

// stop stops the sessions. A later case starts its session again.
func (s *sessions) stop(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	keys, errs := manifest.Keys(s.open), make([]error, len(s.open))
	proc.Each(len(keys), len(keys), func(i int) { errs[i] = s.open[keys[i]].Close(ctx) })
	clear(s.open)
	return errors.Join(errs...)
}

// inline has inline documents, by the path that keep returned.
type inline struct {
	mu   sync.RWMutex
	docs map[string][]manifest.Document
	// files keeps the documents of small files of read.FS: most cases of a suite have the same.
	read  manifest.Reader
	files proc.Memo[string, []manifest.Document]
}

// checkExists returns an error if path does not exist. Documents that the run keeps do.
func (r *runner) checkExists(path string) error {
	if _, kept := r.options.Config.Reader.Documents(path); kept {
		return nil
	}
	return r.options.Config.Reader.CheckExists(path)
}

// maxKept is the largest size in bytes of a file whose content a run keeps.
const maxKept = 64 << 10

func (in *inline) documents(path string) ([]manifest.Document, bool) {
	in.mu.RLock()
	docs, ok := in.docs[path]
	in.mu.RUnlock()
	if !ok && in.read.Documents != nil {
		docs, ok = in.read.Documents(path)
	}
	if !ok {
		docs = in.files.Get(path, func() []manifest.Document { return in.small(path) })
	}
	return slices.Clone(docs), ok || docs != nil
}

// small returns the documents of a small file. For any other path, and for a file without
// documents or with an error, it returns nil.
func (in *inline) small(path string) []manifest.Document {
	info, err := in.read.FS.Stat(path)
	if path == manifest.Stdin || err != nil || !info.Mode().IsRegular() || info.Size() > maxKept {
		return nil
	}
	text, err := afero.ReadFile(in.read.FS, path)
	if err != nil {
		return nil
	}
	docs, err := manifest.Split(path, text)
	if err != nil || len(docs) == 0 {
		return nil
	}
	in.read.Suspect(docs...)
	return docs
}

// keep stores documents and returns a new path for them, based on name.
func (in *inline) keep(name string, docs []manifest.Document) string {
	in.mu.Lock()
	defer in.mu.Unlock()
	path := name
	for n := 2; in.docs[path] != nil; n++ {
		path = fmt.Sprintf("%s #%d", name, n)
	}
	in.docs[path] = docs
	return path
}

func (in *inline) drop(paths []string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, p := range paths {
		delete(in.docs, p)
	}
}
