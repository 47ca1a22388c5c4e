package python_test

import (
	"errors"
	"fmt"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/language"
	"github.com/xfn-dev/xfn/internal/language/python"
	"github.com/xfn-dev/xfn/internal/runtimeimage"
)

// A function in a project runs as the same user as with the crossplane CLI. Other functions
// run as the user of the base image, or as 65532 instead of root.
func TestUser(t *testing.T) {
	wheels := template(t)
	idx := serve(t, false, "", wheels...)
	dir := source(t, manifest)
	e2e.WriteFiles(t, dir, map[string]string{"pylock.toml": pylock(idx.URL, wheels)})
	cache := t.TempDir()
	for project, want := range map[bool]string{false: "nonroot", true: "nonroot:nonroot"} {
		images := imagesOf(t, v1.Config{User: "nonroot"}, map[string][]byte{})
		built := e2e.Must(python.Build(t.Context(), language.Source{Dir: dir, Project: project, Platforms: platforms, Base: images, Artifacts: language.Artifacts{Dir: cache}}, runtimeimage.Options{TempDir: t.TempDir()}))(t)
		config, err := built.Images.All[0].ConfigFile()
		e2e.NoError(t, errors.Join(err, built.Images.Close()))
		e2e.Equal(t, fmt.Sprintf("in a project %v: the user", project), want, config.Config.User)
	}
}
