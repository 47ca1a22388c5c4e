package docs_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/cmd/xfn/docs"
	"github.com/xfn-dev/xfn/internal/e2e"
)

func TestPassedOn(t *testing.T) {
	for reason, tc := range map[string]struct{ args, want string }{
		"a command that needs a cluster is passed on":        {"cluster top", "cluster top"},
		"flags may be before, in and after a command":        {"--verbose xpkg --x install function a", "xpkg install"},
		"the older name of a command is passed on":           {"beta trace a/b", "beta trace"},
		"help for a command that is passed on":               {"help resource trace", "resource trace"},
		"a group is passed on if xfn has no command of it":   {"config --help", "config"},
		"a group with a command of xfn is not passed on":     {"resource --help", ""},
		"a command of xfn is not passed on":                  {"xpkg build", ""},
		"an older name of a command of xfn is not passed on": {"beta convert composition-environment a", ""},
		"an argument of a command of xfn is not a command":   {"render cluster top", ""},
		"a longer word is another command":                   {"cluster topper", ""},
		"no argument is not a command":                       {"", ""},
	} {
		e2e.Equal(t, fmt.Sprintf("%s: PassedOn(%q)", reason, tc.args), tc.want, docs.PassedOn(strings.Fields(tc.args)))
	}
}
