package gotemplating

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"text/template/parse"

	"github.com/xfn-dev/xfn/internal/builtin/sdk"
	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
)

// usual matches an action that only this function understands, in the usual delimiters.
var usual = pattern(`\{\{[^{}]*(?:\.observed\b|setResourceNameAnnotation|getCompositeResource|getComposedResource)`)

// CheckFolder returns an error, with its file and line, for syntax in the templates of a folder
// that no version of the function accepts. It does not check the names of functions, which depend
// on the version, and templates in other delimiters, which only an input names.
func CheckFolder(ctx context.Context, dir string) error {
	all, err := readTree(ctx, dir, ".", dir)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(p part) bool { return fsx.IsEditorFile(filepath.Base(p.at.File)) })
	if !usual().MatchString(all.text()) {
		return nil
	}
	at, err := all.checkSyntax("", "")
	if err != nil {
		return &manifest.Error{Path: at.File, Line: at.Line, Err: err}
	}
	return nil
}

// CheckSyntax returns an error for syntax in an inline template that no version of the function
// accepts, the field of the input, and the line in its text, counted from 1. Like CheckFolder, it does
// not check the names of functions.
func (in *GoTemplate) CheckSyntax() (field string, line int, err error) {
	if in.Source != inlineSource {
		return "", 0, nil
	}
	all, err := in.Inline.parts()
	if err != nil {
		return "", 0, nil // The function reports it.
	}
	key := newProgramKey("", in, false)
	at, err := all.checkSyntax(key.left, key.right)
	return at.Field, at.Line, err
}

// checkSyntax returns the first error in the syntax of a template, and its place.
func (p parts) checkSyntax(left, right string) (sdk.Location, error) {
	text := p.text()
	t := parse.New(rootName)
	t.Mode = parse.SkipFuncCheck
	_, err := t.Parse(text, left, right, map[string]*parse.Tree{})
	if err == nil {
		return sdk.Location{}, nil
	}
	prefix, line := "template: "+rootName+":", 0
	if _, scanned := fmt.Sscanf(err.Error(), prefix+"%d:", &line); scanned != nil {
		return p.locate(1), err
	}
	message := strings.TrimPrefix(err.Error(), fmt.Sprintf("%s%d: ", prefix, line))
	if !strings.Contains(message, "unexpected EOF") {
		return p.locate(line), hint.Wrap(errors.New(message), Advice(message, nil))
	}
	at := p.locateOpen(line, left)
	if at.Detail != "" {
		message += ", " + at.Detail
	}
	return at, errors.New(message)
}
