package gotemplating

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"text/template/parse"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/manifest"
)

// usual matches an action that only this function understands, in the usual delimiters.
var usual = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\{\{[^{}]*(?:\.observed\b|setResourceNameAnnotation|getCompositeResource|getComposedResource)`)
})

// CheckFolder returns an error, with its file and line, for syntax in the templates of a folder
// that no version of the function accepts. It does not check the names of functions, which depend
// on the version, and templates in other delimiters, which only an input names.
func CheckFolder(ctx context.Context, dir string) error {
	all, err := readTree(ctx, dir, ".", dir)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(p part) bool { return fsx.IsEditorFile(filepath.Base(p.at.File)) })
	text := all.text()
	if !usual().MatchString(text) {
		return nil
	}
	t := parse.New(rootName)
	t.Mode = parse.SkipFuncCheck
	if _, err = t.Parse(text, "", "", map[string]*parse.Tree{}); err == nil {
		return nil
	}
	prefix, line := "template: "+rootName+":", 0
	if _, scanned := fmt.Sscanf(err.Error(), prefix+"%d:", &line); scanned != nil {
		return err
	}
	at := all.locate(line)
	return &manifest.Error{Path: at.File, Line: at.Line, Err: errors.New(strings.TrimPrefix(err.Error(), fmt.Sprintf("%s%d: ", prefix, line)))}
}
