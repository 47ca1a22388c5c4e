package generate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/afero"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/project"
)

// locate returns the path of a file that the user names: relative to the working directory
// or, if it is not there, to the project.
func locate(p *project.Project, path string) string {
	if in := p.Dir(path); !fileExists(path) && filepath.IsLocal(path) && fileExists(in) {
		return in
	}
	return path
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// An Edit is a changed file that is not written yet.
type Edit struct {
	Path string
	Data []byte
}

// update writes what edit returns, and reports whether that is not nil. edit reads the file after
// other processes that update it have finished, so no change of theirs is lost. On Windows, an open
// file cannot be replaced, so processes do not wait for each other there.
func update(ctx context.Context, path string, edit func() (*Edit, error)) (changed bool, err error) {
	f, err := lockFile(ctx, path)
	if err != nil {
		return false, err
	}
	if f != nil {
		defer func() { err = errors.Join(err, fsx.Unlock(f)) }()
	}
	e, err := edit()
	if e == nil || err != nil {
		return false, err
	}
	return true, e.write()
}

// lockFile opens and locks a file. It returns nil if the system cannot lock it.
func lockFile(ctx context.Context, path string) (*os.File, error) {
	if info, err := os.Stat(path); runtime.GOOS == "windows" || err != nil || !info.Mode().IsRegular() {
		return nil, nil
	}
	for {
		f, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("locking %q: %w", path, fsx.Cause(err))
		}
		ok, lockErr := fsx.TryLock(f, fsx.ExclusiveLock)
		switch {
		case lockErr != nil: // Some network file systems have no locks.
			return nil, f.Close()
		case ok && fsx.IsAt(f, path):
			return f, nil
		}
		if err := errors.Join(f.Close(), proc.Sleep(ctx, 10*time.Millisecond)); err != nil {
			return nil, fmt.Errorf("locking %q: %w", path, err)
		}
	}
}

// write writes the file, with the mode that it has.
func (e *Edit) write() error {
	mode := os.FileMode(0o644)
	if info, err := os.Stat(e.Path); err == nil {
		mode = info.Mode().Perm()
	}
	return fsx.WriteFile(e.Path, mode, e.Data)
}

// AddStep returns the file with a Composition or an operation, with a new first step that
// calls a function. It returns nil if the pipeline has a step of this name for the function.
// If the file has several documents, the step is added to the first that has a pipeline.
func AddStep(ctx context.Context, path, step, function string) (*Edit, error) {
	reader := manifest.Reader{FS: afero.NewOsFs()}
	data, err := reader.Bytes(ctx, path)
	if err != nil {
		return nil, err
	}
	docs, err := manifest.Split(path, data)
	if err != nil {
		return nil, err
	}
	for _, doc := range docs {
		obj, err := doc.Object()
		if err != nil {
			return nil, err
		}
		list, err := pipelineOf(obj)
		if errors.Is(err, ErrNoPipeline) {
			continue
		}
		if err != nil {
			return nil, hint.Wrap(doc.ErrorOf("spec.mode", err), "convert it first, with xfn convert pipeline-composition "+hint.Word(path))
		}
		steps, _, _ := unstructured.NestedSlice(obj, strings.Split(list, ".")...)
		for i, s := range steps {
			s, _ := s.(map[string]any)
			name, called := fieldpath.Text(s, "step"), fieldpath.Text(s, "functionRef", "name")
			switch {
			case name == step && called == function:
				return nil, nil
			case name == step:
				return nil, hint.Wrap(doc.ErrorOf(fmt.Sprintf("%s[%d]", list, i), fmt.Errorf("the pipeline already has a step %q, which calls %q", step, called)),
					"choose another name for the function, or rename the step")
			}
		}
		change, err := doc.InsertItem(list, 0, map[string]any{"step": step, "functionRef": map[string]any{"name": function}})
		if err != nil {
			return nil, err
		}
		return &Edit{Path: path, Data: change.Apply(data)}, nil
	}
	err = fmt.Errorf("adding a step to %q: %w", path, ErrNoPipeline)
	if len(docs) > 0 {
		obj, _ := docs[0].Object()
		err = fmt.Errorf("adding a step to %s: %w, got kind %v", docs[0].PositionOf("kind"), ErrNoPipeline, obj["kind"])
	}
	return nil, hint.Wrap(err, "name the file of a Composition, which xfn composition generate writes")
}

func pipelineOf(obj map[string]any) (string, error) {
	u := unstructured.Unstructured{Object: obj}
	switch group := u.GroupVersionKind().Group; {
	case group == "apiextensions.crossplane.io" && u.GetKind() == "Composition":
		if resources, _, _ := unstructured.NestedSlice(obj, "spec", "resources"); fieldpath.Text(obj, "spec", "mode") == "Resources" || len(resources) > 0 {
			return "", errors.New("the Composition has no pipeline: its mode is Resources")
		}
		return "spec.pipeline", nil
	case group == "ops.crossplane.io" && u.GetKind() == "Operation":
		return "spec.pipeline", nil
	case group == "ops.crossplane.io" && (u.GetKind() == "CronOperation" || u.GetKind() == "WatchOperation"):
		return "spec.operationTemplate.spec.pipeline", nil
	}
	return "", ErrNoPipeline
}
