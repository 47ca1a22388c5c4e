package npm_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/language/typescript/npm"
)

// The tests ask a server for a package, and compare the URL that it is asked for.
func TestRegistry(t *testing.T) {
	const public = "https://registry.npmjs.org/"
	cases := map[string]struct {
		reason, project, user string
		env                   []string
		p                     npm.Package
		want                  string
	}{
		"Project":   {"the project has priority over the user", "registry={url}/p/", "registry={url}/u/", nil, npm.Package{Name: "a"}, "/p/a/-/a-1.0.0.tgz"},
		"User":      {"the user's file is read", "# registry=x\n; registry=y\n[section]", `registry = "{url}/u"`, nil, npm.Package{Name: "a"}, "/u/a/-/a-1.0.0.tgz"},
		"Env":       {"the environment has priority over files", "registry={url}/p/", "", []string{"npm_config_registry={url}/e/"}, npm.Package{Name: "a"}, "/e/a/-/a-1.0.0.tgz"},
		"NoUser":    {"an empty device stands for no file of the user", "", "registry={url}/u/", []string{"npm_config_userconfig=" + os.DevNull, "npm_config_registry={url}/e/"}, npm.Package{Name: "a"}, "/e/a/-/a-1.0.0.tgz"},
		"UpperCase": {"variables may be in upper case", "", "", []string{"NPM_CONFIG_REGISTRY={url}/e/"}, npm.Package{Name: "a"}, "/e/a/-/a-1.0.0.tgz"},
		"Scope":     {"a scope can have its own registry", "registry={url}/p/\n@s:registry={url}/s/", "", nil, npm.Package{Name: "@s/a"}, "/s/@s/a/-/a-1.0.0.tgz"},
		"Variable":  {"variables are replaced", "registry={url}/${FOLDER}/${GONE?}", "", []string{"FOLDER=v"}, npm.Package{Name: "a"}, "/v/a/-/a-1.0.0.tgz"},
		"Replaced":  {"another default registry replaces npm's", "registry={url}/p/", "", nil, npm.Package{Name: "a", Resolved: public + "a/-/a-1.0.0.tgz"}, "/p/a/-/a-1.0.0.tgz"},
		"Resolved":  {"a URL of another registry is used as it is", "registry={url}/p/", "", nil, npm.Package{Name: "a", Resolved: "{url}/r/a.tgz"}, "/r/a.tgz"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				got = r.URL.Path
				w.WriteHeader(http.StatusGone)
			}))
			defer server.Close()
			fill := func(s string) string { return strings.ReplaceAll(s, "{url}", server.URL) }
			project, home := t.TempDir(), t.TempDir()
			for dir, text := range map[string]string{project: tc.project, home: tc.user} {
				e2e.NoError(t, os.WriteFile(filepath.Join(dir, ".npmrc"), []byte(fill(text)), 0o600))
			}
			env := []string{"HOME=" + home}
			for _, v := range tc.env {
				env = append(env, fill(v))
			}
			config := e2e.Must(npm.ReadConfig(project, env))(t)
			p := tc.p
			p.At, p.Version, p.Integrity, p.Resolved = "node_modules/a", "1.0.0", integrity(nil), fill(p.Resolved)
			s := &npm.Store{Dir: t.TempDir(), Config: config, Tries: 1}
			e2e.Error(t, tc.reason, e2e.Err(s.Get(t.Context(), []*npm.Package{&p}, project, project)))
			e2e.Equal(t, tc.reason, tc.want, got)
		})
	}
}

func TestReadConfigRefuses(t *testing.T) {
	dir := t.TempDir()
	e2e.NoError(t, os.Mkdir(filepath.Join(dir, ".npmrc"), 0o700))
	e2e.ErrorHas(t, "a folder instead of the file is an error with its name", e2e.Err(npm.ReadConfig(dir, nil)), ".npmrc")
}
