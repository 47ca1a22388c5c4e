package project

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"runtime"
	"slices"
	"strings"

	apiextv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/language"
	"github.com/xfn-dev/xfn/internal/language/languages"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/xpkg"
)

// The rules for projects. LintRules describes them.
const (
	ruleProjectFile    = "project-file"
	ruleFile           = "file"
	ruleLink           = "link"
	ruleLeftOut        = "left-out"
	ruleReplaced       = "replaced"
	ruleFunctionRef    = "function-ref"
	ruleMissingXRD     = "missing-xrd"
	ruleUnusedFunction = "unused-function"
	ruleFunctionSource = "function-source"
	ruleUnusedTemplate = "unused-template"
)

// LintRules returns the rules for projects, in addition to the rules of package xpkg.
func LintRules() []xpkg.LintRule {
	const severity = "warning"
	return []xpkg.LintRule{
		{Name: ruleProjectFile, Severity: severity, Finds: "an unknown field or unusual value in the project file", Why: "The field is probably misspelled. The crossplane CLI ignores it, or cannot build with it."},
		{Name: ruleLeftOut, Severity: severity, Finds: "a file that does not become part of the package", Why: "The first object of a file decides whether the file is part of the Configuration. Other kinds are left out, with all further objects of the file."},
		{Name: ruleReplaced, Severity: severity, Finds: "an API that an operation with the same path replaces", Why: "The files of APIs and operations become one tree. Of two files with the same relative path, only the operation is in the package."},
		{Name: ruleFunctionRef, Severity: severity, Finds: "a step that calls a function which nothing installs", Why: "Crossplane installs the embedded functions and the dependencies, under names that it derives from their repositories. Another function must be installed separately."},
		{Name: ruleMissingXRD, Severity: severity, Finds: "a Composition whose XRD is not in the project", Why: "Without the XRD, no composite resource can use the Composition."},
		{Name: ruleUnusedFunction, Severity: severity, Finds: "a function that no pipeline calls", Why: "Crossplane installs and runs the function, although nothing calls it."},
		{Name: ruleUnusedTemplate, Severity: severity, Finds: "a template of a function in another language", Why: "Its language does not use the template, which may be left from an earlier function."},
		{Name: ruleFunctionSource, Severity: "error", Finds: "a function that cannot be built", Why: "Its directory has no source of a known language, or mistakes that are found without a base image."},
	}
}

// rules returns the rules for the objects of the Configuration. The first reports found, the
// problems of files that were not read.
func (p *Project) rules(functions []Function, found xpkg.Problems) []xpkg.Rule {
	return []xpkg.Rule{
		func(context.Context, []xpkg.Document) xpkg.Problems { return found },
		func(_ context.Context, objects []xpkg.Document) xpkg.Problems {
			apis := make([]api, len(objects))
			proc.Each(runtime.GOMAXPROCS(0), len(objects), func(i int) {
				o := objects[i]
				apis[i].doc = manifest.Document{Path: o.Path, Line: o.TextLine, Text: o.Text, JSON: o.JSON}
				if apis[i].doc.Decode(&apis[i]) == nil { // Other rules report an object that is not valid.
					apis[i].kind = o.Kind
				}
			})
			return append(p.checkCalls(functions, apis), p.checkTypes(apis)...)
		},
	}
}

// An api has the fields of XRDs, Compositions and operations that the rules compare.
type api struct {
	doc  manifest.Document
	kind string
	Spec struct {
		pipeline          `json:",inline"`
		OperationTemplate struct {
			Spec pipeline `json:"spec"`
		} `json:"operationTemplate"`
		CompositeTypeRef struct{ APIVersion, Kind string } `json:"compositeTypeRef"`
		Group            string                            `json:"group"`
		Names            struct{ Kind string }             `json:"names"`
	} `json:"spec"`
}

type pipeline struct {
	Pipeline []struct {
		FunctionRef struct {
			Name string `json:"name"`
		} `json:"functionRef"`
	} `json:"pipeline"`
}

type call struct{ field, name string }

func (a api) calls() []call {
	var all []call
	add := func(prefix string, p pipeline) {
		for i, s := range p.Pipeline {
			if s.FunctionRef.Name != "" {
				all = append(all, call{fmt.Sprintf("%s.pipeline[%d].functionRef.name", prefix, i), s.FunctionRef.Name})
			}
		}
	}
	add("spec", a.Spec.pipeline)
	add("spec.operationTemplate.spec", a.Spec.OperationTemplate.Spec)
	return all
}

// checkCalls compares the functions that pipelines call with the functions that are installed.
func (p *Project) checkCalls(functions []Function, apis []api) xpkg.Problems {
	installed := map[string]bool{}
	for _, f := range functions {
		installed[p.FunctionRef(f.Name)] = true
	}
	others := map[string]Package{} // dependencies that are not functions to call
	transitive := false            // whether a dependency may install further functions
	for _, d := range p.Packages(true) {
		name := InstalledName(d.Package)
		transitive = transitive || d.Kind == "Configuration"
		if d.Kind == "Function" && !d.APIOnly {
			installed[name] = true
		} else {
			others[name] = d
		}
	}
	var found xpkg.Problems
	called := map[string]bool{}
	for _, a := range apis {
		for _, c := range a.calls() {
			called[c.name] = true
			other, isOther := others[c.name]
			if installed[c.name] || transitive && !isOther {
				continue
			}
			text := fmt.Sprintf("no dependency or embedded function of the project has the name %q", c.name)
			switch {
			case isOther && other.APIOnly:
				text = fmt.Sprintf("the dependency %q is not installed, because it has apiOnly", other.Package)
			case isOther:
				text = fmt.Sprintf("the dependency %q is a %s and not a Function", other.Package, other.Kind)
			default:
				if near := hint.Nearest(c.name, slices.Sorted(maps.Keys(installed))); near != "" {
					text += ": is it " + near + "?"
				} else if absent := p.absent("functions", p.Paths.Functions); absent != "" {
					text += fmt.Sprintf("; %s:%d: %s", p.Path, p.Line("spec.paths.functions"), absent)
				}
			}
			found = append(found, xpkg.Problem{Rule: ruleFunctionRef, Warning: true, Path: a.doc.Path, Line: a.doc.Lines().Of(c.field), Text: text})
		}
	}
	return append(found, p.unused(functions, called)...)
}

func (p *Project) unused(functions []Function, called map[string]bool) xpkg.Problems {
	var found xpkg.Problems
	lines := p.doc.Lines()
	for _, f := range functions {
		if ref := p.FunctionRef(f.Name); !called[ref] {
			problem := xpkg.Problem{Rule: ruleUnusedFunction, Warning: true, Path: p.FunctionDir(f), Text: fmt.Sprintf("no pipeline calls the function %q, whose name in pipelines is %s", f.Name, ref)}
			if f.Field != "" {
				problem.Path, problem.Line = p.Path, lines.Of(f.Field)
			}
			found = append(found, problem)
		}
	}
	for _, d := range p.Dependencies {
		if d.XPkg == nil || d.XPkg.Kind != "Function" || d.XPkg.APIOnly || called[InstalledName(d.XPkg.Package)] {
			continue
		}
		text := fmt.Sprintf("no pipeline calls the function %q, whose name in pipelines is %s", d.XPkg.Package, InstalledName(d.XPkg.Package))
		found = append(found, xpkg.Problem{Rule: ruleUnusedFunction, Warning: true, Path: p.Path, Line: lines.Of(d.Field), Text: text})
	}
	return found
}

// checkTypes reports Compositions whose XRD is not in the project. A dependency on a
// Configuration may have it.
func (p *Project) checkTypes(apis []api) xpkg.Problems {
	if slices.ContainsFunc(p.Packages(false), func(d Package) bool { return d.Kind == "Configuration" }) {
		return nil
	}
	defined := map[string]bool{}
	for _, a := range apis {
		if a.kind == apiextv1.CompositeResourceDefinitionKind {
			defined[a.Spec.Group+" "+a.Spec.Names.Kind] = true
		}
	}
	var found xpkg.Problems
	for _, a := range apis {
		ref := a.Spec.CompositeTypeRef
		group, _, _ := strings.Cut(ref.APIVersion, "/")
		if a.kind == apiextv1.CompositionKind && !defined[group+" "+ref.Kind] {
			found = append(found, xpkg.Problem{
				Rule: ruleMissingXRD, Warning: true, Path: a.doc.Path, Line: a.doc.Lines().Of("spec.compositeTypeRef"),
				Text: fmt.Sprintf("no XRD of the project defines kind %s of group %s", ref.Kind, group),
			})
		}
	}
	return found
}

func (p *Project) problems() (found xpkg.Problems) {
	for _, w := range p.Warnings {
		problem := xpkg.Problem{Rule: ruleProjectFile, Warning: true, Path: p.Path, Text: w.Error(), Hint: string(hint.Of(w))}
		if at, ok := errors.AsType[*manifest.Error](w); ok {
			problem.Line, problem.Text = at.Line, at.Err.Error()
		}
		found = append(found, problem)
	}
	return found
}

// checkSource returns the problems in the source of a function: problems that prevent a build, and
// unused templates.
func (p *Project) checkSource(ctx context.Context, f Function) (found xpkg.Problems) {
	dir := p.FunctionDir(f)
	if f.Tarball != "" {
		return nil
	}
	lang, err := languages.Detect(dir)
	if err == nil {
		if unused := lang.Unused(dir); unused != "" {
			found = append(found, xpkg.Problem{Rule: ruleUnusedTemplate, Warning: true, Path: dir, Text: unused, Hint: language.RemoveUnused})
		}
	}
	if err == nil && lang.Check != nil {
		err = lang.Check(ctx, language.Source{Dir: dir, Root: p.Root, Project: true})
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) { // A build generates models, which source names by path.
		return found
	}
	problem := xpkg.Problem{Rule: ruleFunctionSource, Refused: true, Path: dir, Text: err.Error(), Hint: string(hint.Of(err))}
	if at, ok := errors.AsType[*manifest.Error](err); ok {
		problem.Path, problem.Line, problem.Text = at.Path, at.Line, at.Err.Error()
	}
	return append(found, problem)
}

// Lint checks what Build would put into the packages, without building the functions.
func Lint(ctx context.Context, p *Project, o Options) (xpkg.Report, error) {
	functions, err := p.Functions()
	if err != nil {
		return xpkg.Report{}, err
	}
	b := &builder{Options: o, project: p}
	report := xpkg.Report{Problems: p.problems()}
	// add adds all problems of a package. Below the level All, read returns only errors if
	// there are any.
	add := func(read func() (*xpkg.Package, error)) (*xpkg.Package, error) {
		b.Lint = xpkg.Warn
		pkg, err := read()
		if err == nil {
			for _, w := range pkg.Warnings {
				if !slices.Contains(report.Problems, w) { // The packages share metadata.
					report.Problems = append(report.Problems, w)
				}
			}
			return pkg, nil
		}
		b.Lint = xpkg.All
		_, err = read()
		found, ok := err.(xpkg.Problems)
		if !ok {
			return nil, err
		}
		report.Problems = append(report.Problems, found...)
		return nil, nil
	}
	pkg, err := add(func() (*xpkg.Package, error) { return p.read(ctx, functions, b.Options) })
	if err != nil {
		return report, err
	}
	if pkg != nil {
		report.Meta, report.Objects = pkg.Meta, len(pkg.Objects)
	}
	for _, f := range functions {
		if _, err := add(func() (*xpkg.Package, error) { return b.content(ctx, f) }); err != nil {
			return report, err
		}
		report.Problems = append(report.Problems, p.checkSource(ctx, f)...)
	}
	return report, nil
}
