package builtin_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/builtin"
)

func TestPolicy(t *testing.T) {
	const digest = "@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	cases := map[string]struct {
		reason string
		policy builtin.Policy
		pkg    string
		want   string
	}{
		"Published":     {"a tag of the contrib organisation is what a builtin stands in for", builtin.Policy{}, "xpkg.crossplane.io/crossplane-contrib/function-dummy:v0.4.1", "function-dummy"},
		"AnyHost":       {"the host does not matter: mirrors keep the path", builtin.Policy{Mode: builtin.Auto}, "ghcr.io/crossplane-contrib/function-dummy:v9.9.9", "function-dummy"},
		"NoHost":        {"the published pages leave the host out", builtin.Policy{}, "crossplane-contrib/function-dummy:v0.4.1", "function-dummy"},
		"Digest":        {"a digest names exact content, which is not ours", builtin.Policy{Mode: builtin.Any}, "xpkg.crossplane.io/crossplane-contrib/function-dummy" + digest, ""},
		"TagAndDigest":  {"a digest counts where there is a tag, too", builtin.Policy{Mode: builtin.Any}, "xpkg.crossplane.io/crossplane-contrib/function-dummy:v0.4.1" + digest, ""},
		"OtherOwner":    {"somebody's fork is not the function that was measured", builtin.Policy{}, "xpkg.crossplane.io/acme/function-dummy:v0.4.1", ""},
		"DeeperOwner":   {"an owner that merely ends alike is another", builtin.Policy{}, "ghcr.io/acme/crossplane-contrib/function-dummy:v0.4.1", ""},
		"OtherOwnerAny": {"any takes the name alone", builtin.Policy{Mode: builtin.Any}, "xpkg.crossplane.io/acme/function-dummy:v0.4.1", "function-dummy"},
		"Off":           {"off takes none", builtin.Policy{Mode: builtin.Off}, "xpkg.crossplane.io/crossplane-contrib/function-dummy:v0.4.1", ""},
		"Mirror":        {"a mirror is named by its repository, even when off", builtin.Policy{Mode: builtin.Off, Repositories: map[string]string{"ghcr.io/acme/fd": "function-dummy"}}, "ghcr.io/acme/fd:v1", "function-dummy"},
		"MirrorOther":   {"a mirror of one repository says nothing of another", builtin.Policy{Repositories: map[string]string{"ghcr.io/acme/fd": "function-dummy"}}, "ghcr.io/acme/fx:v1", ""},
		"Unknown":       {"not every function is a builtin", builtin.Policy{}, "xpkg.crossplane.io/crossplane-contrib/function-nobody:v1", ""},
		"Garbage":       {"what is no reference has no builtin", builtin.Policy{Mode: builtin.Any}, "::function-dummy::", ""},
		"Empty":         {"an empty package has no builtin", builtin.Policy{Mode: builtin.Any}, "", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, ok := tc.policy.For(tc.pkg)
			if got.Name != tc.want || ok != (tc.want != "") {
				t.Errorf("%s: got %q, %t, want %q", tc.reason, got.Name, ok, tc.want)
			}
		})
	}
}

func TestForced(t *testing.T) {
	policy := builtin.Policy{Repositories: map[string]string{"ghcr.io/acme/fd": "function-dummy"}}
	cases := map[string]struct{ reason, pkg, want string }{
		"Name":    {"any repository of the name will do", "ghcr.io/acme/function-dummy:v1", "function-dummy"},
		"Mirror":  {"so will one that is named", "ghcr.io/acme/fd:v1", "function-dummy"},
		"Other":   {"another has no builtin", "ghcr.io/acme/other:v1", ""},
		"Garbage": {"nor has what is no reference", "::", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got, ok := policy.Forced(tc.pkg); got.Name != tc.want || ok != (tc.want != "") {
				t.Errorf("%s: got %q, %t", tc.reason, got.Name, ok)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	cases := map[string]struct{ reason, repo, builtin, want string }{
		"Good":       {"a repository and a builtin", "ghcr.io/acme/fd", "function-dummy", ""},
		"Short":      {"function- may be left out", "ghcr.io/acme/fd", "dummy", ""},
		"Builtin":    {"a builtin has to be one", "ghcr.io/acme/fd", "nope", `there is no builtin "nope": the builtins are function-auto-ready, function-dummy, function-go-templating, function-patch-and-transform`},
		"Repository": {"a repository has to be one", "A B", "function-dummy", `"A B" is not a repository`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := builtin.Policy{Repositories: map[string]string{tc.repo: tc.builtin}}.Check()
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || err.Error() != tc.want) {
				t.Errorf("%s: got %v", tc.reason, err)
			}
		})
	}
}

func TestAll(t *testing.T) {
	var names []string
	for _, b := range builtin.All() {
		names = append(names, b.Name)
		if b.New == nil || b.Measured == "" {
			t.Errorf("%s lacks a runner or the version that it was measured against", b.Name)
		}
	}
	if !slices.IsSorted(names) {
		t.Errorf("the catalogue is not sorted: %v", names)
	}
}

func TestCheckVersion(t *testing.T) {
	b := builtin.Builtin{Name: "function-x", From: "v0.8.0", Below: "v0.11.0"}
	cases := map[string]struct {
		reason, pkg, want string
	}{
		"First":     {"the first version is one", "a/b:v0.8.0", ""},
		"Last":      {"so is the last before the end", "a/b:v0.10.99", ""},
		"End":       {"the end is none", "a/b:v0.11.0", "the builtin function-x stands for v0.8.0 to below v0.11.0, not for v0.11.0"},
		"Candidate": {"a candidate comes before its version", "a/b:v0.8.0-rc.1", "not for v0.8.0-rc.1"},
		"Short":     {"a version may be cut short", "a/b:v0.9", ""},
		"Bare":      {"or go without a v", "a/b:0.7.1", "not for 0.7.1"},
		"Branch":    {"a branch may be any version", "a/b:main", `the builtin function-x stands for v0.8.0 to below v0.11.0, and the tag "main" is no version`},
		"None":      {"nothing asks for no version", "a/b", ""},
		"Digest":    {"a digest is compared with nothing", "a/b@sha256:0123", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := b.CheckVersion(tc.pkg)
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.HasSuffix(err.Error(), tc.want)) {
				t.Errorf("%s: got %v, want %q", tc.reason, err, tc.want)
			}
		})
	}
}

func TestAdvice(t *testing.T) {
	b := builtin.Builtin{Name: "function-x", From: "v0.8.0", Below: "v0.11.0"}
	cases := map[string]struct{ reason, fatal, want string }{
		"Field": {"an unknown field is named", `cannot get Function input: … json: unknown field "a[0].b"`, "check a[0].b: this is the builtin function-x, which knows the input of v0.8.0 to below v0.11.0; give another version's package with {package} NAME=PATH"},
		"Type":  {"anything else in the input is not", `cannot get Function input from x: json: cannot unmarshal`, "check the fields of its input: "},
		"Other": {"about other results there is nothing to say", `invalid Function input: resources: Required value`, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := string(b.Advice(tc.fatal)); !strings.HasPrefix(got, tc.want) || tc.want == "" && got != "" {
				t.Errorf("%s: got %q", tc.reason, got)
			}
		})
	}
}
