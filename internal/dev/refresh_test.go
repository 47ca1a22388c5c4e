package dev_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/dev"
	"github.com/xfn-dev/xfn/internal/e2e"
)

// TestRefresh checks that a change of an API writes the sources that depend on it before the
// next round, and that the loop continues after an error.
func TestRefresh(t *testing.T) {
	t.Parallel()
	refreshes := 0
	b := start(t, func(c *dev.Config) {
		b := &bench{T: t, dir: strings.TrimSuffix(c.Suites[0], "/tests")}
		b.put("other.yaml", strings.ReplaceAll(project["xr.yaml"], "name: x", "name: other"))
		c.Refresh.Folders = []string{b.path("apis")}
		c.Refresh.Do = func(context.Context) (dev.Config, error) {
			refreshes++
			text, err := os.ReadFile(b.path("apis/app/xrd.yaml"))
			if err != nil || string(text) == "invalid" {
				return dev.Config{}, errors.Join(err, errors.New("reading the API: it is invalid"))
			}
			b.put("fn/main.go", string(text))
			next := *c
			if string(text) == "three" {
				next.Inputs.XRs = append(slices.Clone(c.Inputs.XRs), b.path("other.yaml"))
			}
			if string(text) == "images" {
				b.put("fn/main.go", "three")
				next.Images = "changed"
			}
			return next, nil
		}
	})
	b.round()

	b.put("apis/app/xrd.yaml", "two")
	r := b.round()
	b.wants(r, "a changed API restarts the function whose source it changes", "round 2: apis changed", "f: built in", `spec.text: "one" → "two"`, "tested 2 cases")
	e2e.Equal(t, "only the function whose source changed is restarted", []string{b.path("fn")}, r.Plan.Restart)

	b.put("apis/app/xrd.yaml", "invalid")
	b.wants(b.round(), "an invalid API leaves the last source", "project not updated: the last good functions and models are used reading the API: it is invalid", "!built", "rendered 2", "nothing changed since")
	b.put("fn/main.go", "mine")
	b.wants(b.round(), "the error is shown until the API is valid", "fn/main.go changed", "reading the API: it is invalid", `"two" → "mine"`)

	b.put("apis/app/xrd.yaml", "three")
	b.wants(b.round(), "a valid API replaces the source and the config", "apis changed", "!project not updated", "f: built in", `"mine" → "three"`, "rendered 4")
	b.put("apis/app/xrd.yaml", "images")
	r = b.round()
	b.wants(r, "functions are restarted if they get other images, though their sources are the same", "apis changed", "f: built in")
	e2e.Equal(t, "only the function with other images is restarted", []string{b.path("fn")}, r.Plan.Restart)
	e2e.Equal(t, "one refresh for each change of the API", 4, refreshes)
}
