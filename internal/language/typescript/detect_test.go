package typescript_test

import (
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/language/typescript"
)

func TestDetect(t *testing.T) {
	cases := map[string]struct {
		reason string
		files  []string
		main   string
		want   bool
	}{
		"TypeScript": {"src/main.ts is the usual file", []string{"src/main.ts"}, "", true},
		"Main":       {"the manifest can name the compiled file", []string{"src/fn/server.ts", "tsconfig.json"}, "./dist/fn/server.js", true},
		"JavaScript": {"JavaScript needs no compiler", []string{"lib/server.js"}, "lib/server.js", true},
		"Library":    {"a manifest without a program is for tools", []string{"README.md"}, "", false},
		"Compiled":   {"compiled files alone are not source", []string{"dist/main.js", "tsconfig.json"}, "dist/main.js", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := &function{dir: t.TempDir(), manifest: object{"main": tc.main}}
			f.save(t)
			for _, file := range tc.files {
				f.write(t, file, "{}")
			}
			l := typescript.Language()
			e2e.Equal(t, tc.reason, tc.want, e2e.Must(l.Detect(f.dir))(t))
			if watched, err := l.Watch(f.dir); (err == nil) != tc.want || tc.want && len(watched) < 3 {
				t.Errorf("%s: got %q, %v", tc.reason, watched, err)
			}
		})
	}
	e2e.Equal(t, "an empty folder is not a project", false, e2e.Must(typescript.Language().Detect(t.TempDir()))(t))
}
