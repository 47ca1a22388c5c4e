package dev

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
)

// A Refresh updates the sources of functions and the inputs of the loop from other files, such
// as the models that functions import from the APIs of a project.
type Refresh struct {
	// A change of Paths or Folders needs a refresh. Paths are files, and folders of which
	// only the names of the files count. Folders are folders of which the content of all
	// files counts.
	Paths, Folders []string
	// Do writes the sources, and returns the new Config. It is called between rounds, never
	// concurrently. If it fails, the loop continues with the Config that it has. If Do is
	// nil, nothing is refreshed.
	Do func(context.Context) (Config, error)
}

func (r Refresh) needs(c Change) bool {
	return r.Do != nil && c.Source == "" && slices.ContainsFunc(slices.Concat(r.Paths, r.Folders), func(path string) bool {
		return filepath.Clean(path) == filepath.Clean(c.Path)
	})
}

// planOf returns the plan for file changes. After a refresh, the files that it wrote are
// changes of sources. They are not shown, because the user did not change them.
func (l *loop) planOf(changes []Change) Plan {
	p := planOf(changes, l.renders, l.tests)
	if slices.ContainsFunc(changes, l.config.Refresh.needs) {
		p.Refresh, p.Render, p.Test = true, true, true
	}
	if l.now.Refresh {
		p.Changed = slices.DeleteFunc(p.Changed, func(path string) bool {
			return slices.ContainsFunc(changes, func(c Change) bool { return c.Path == path && c.Source != "" })
		})
	}
	return p
}

// refreshed handles a refresh that has ended. The next round restarts the functions whose
// sources the refresh has changed.
func (l *loop) refreshed(ctx context.Context, r Round, show func(Event) error) error {
	if l.next.Refresh {
		return nil // A file changed during the refresh.
	}
	if l.refreshErr = r.refreshErr; r.refreshErr == nil {
		if r.refreshed.Images != l.config.Images {
			l.next = l.next.and(Plan{Restart: l.pool.Packages()})
		}
		l.config = r.refreshed
		l.setExplicit()
		l.renders, l.tests = union(l.renders, l.explicit), union(l.tests, l.explicitTests)
	}
	changes, err := l.detectChanges(ctx, show)
	if err != nil {
		return err
	}
	l.next = l.next.and(l.planOf(changes))
	again := l.next.Refresh
	l.next = l.next.and(r.Plan)
	l.next.Refresh = again
	l.now = Plan{}
	return nil
}

// sources returns the clean paths of all packages. A source must always have the same path,
// because the files of a path that is new in a snapshot count as changed if they were written
// shortly before the round.
func (l *loop) sources() []string {
	all := slices.AppendSeq(l.pool.Packages(), maps.Values(l.config.Session.Packages))
	for i, pkg := range all {
		all[i] = filepath.Clean(pkg)
	}
	return union(all)
}
