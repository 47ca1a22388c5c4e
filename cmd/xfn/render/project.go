package render

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/afero"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/project"
	"github.com/xfn-dev/xfn/internal/session"
	engine "github.com/xfn-dev/xfn/render"
)

// projectInputs are the inputs that a project in the working directory adds to the arguments.
type projectInputs struct {
	project *project.Project // nil without a project
	docs    []manifest.Document
}

// fromProject finds the project of --project-file or in the working directory if no argument names the
// functions. If no argument names the Composition either, fromProject selects the Composition and the
// XRD by the type of the composite resource. For a claim, it uses the Compositions and XRDs of
// --compositions.
func (c *Cmd) fromProject(ctx context.Context, term *terminal.Terminal) (p projectInputs, err error) {
	if c.Functions != "" || len(c.XRs) > 0 && c.Composition != "" || c.Profile == engine.Alpha {
		return p, nil
	}
	if p.project, err = flags.ProjectAt(ctx, term, c.ProjectFile); err != nil && !slices.Contains([]string{"", "Project"}, kindOf(c.ProjectFile)) {
		err = hint.Wrap(err, "-f names the file of a project, and -c prints the context: "+order)
	}
	if err != nil || p.project == nil {
		return p, err
	}
	if c.Composition != "" || len(c.XRs)+len(c.Compositions) > 0 || c.XR == manifest.Stdin || isDir(c.XR) {
		return p, nil
	}
	doc, _, err := manifest.Reader{FS: afero.NewOsFs()}.First(ctx, c.XR)
	if err != nil {
		return p, fmt.Errorf("loading the composite resource: %w", err)
	}
	var xr struct{ APIVersion, Kind string }
	if err := doc.Decode(&xr); err != nil {
		return p, err
	}
	if obj, err := doc.Object(); err == nil {
		if err := session.CheckXR(doc, obj); err != nil {
			return p, err
		}
	}
	apis, err := p.project.APIsFor(xr.APIVersion, xr.Kind)
	if err != nil {
		return p, fmt.Errorf("%s: %w", doc.Position(), err)
	}
	if apis.Claim {
		c.Compositions, err = p.project.APIFolders()
		return p, err
	}
	if c.Composition, err = p.pathOf(ctx, apis.Composition); err == nil && c.XRD == "" && apis.XRD.Text != nil {
		c.XRD, err = p.pathOf(ctx, apis.XRD)
	}
	return p, err
}

// pathOf returns the path of a document's file if the file has no other document. Otherwise it
// returns the document's position, which the reader of the session knows.
func (p *projectInputs) pathOf(ctx context.Context, d manifest.Document) (string, error) {
	_, more, err := manifest.Reader{FS: afero.NewOsFs()}.First(ctx, d.Path)
	if err == nil && more {
		p.docs = append(p.docs, d)
		return d.Position(), nil
	}
	return d.Path, err
}

func (p projectInputs) file(position string) string {
	for _, d := range p.docs {
		if d.Position() == position {
			return d.Path
		}
	}
	return position
}
