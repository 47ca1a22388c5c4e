package remote_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/remote"
)

const (
	sha   = "sha256:0000000000000000000000000000000000000000000000000000000000000000"
	plain = "crossplane-contrib/function-example:v0.1.0"
)

func TestParseTag(t *testing.T) {
	cases := map[string]struct{ reason, in, registry, want, err, hint string }{
		"Full":            {reason: "a full reference is unchanged", in: "r.example/a/b:v1", want: "r.example/a/b:v1"},
		"FullWins":        {reason: "the default registry is only for references without a registry", in: "r.example/a/b:v1", registry: "other.example", want: "r.example/a/b:v1"},
		"Port":            {reason: "a name with a port is a registry", in: "host:5000/a:v1", want: "host:5000/a:v1"},
		"Localhost":       {reason: "localhost is a registry although it has no dot", in: "localhost/a:v1", want: "localhost/a:v1"},
		"Default":         {reason: "a reference of published examples is in the default registry", in: plain, registry: "127.0.0.1:5000", want: "127.0.0.1:5000/" + plain},
		"DefaultOneWord":  {reason: "a repository of one part is in the default registry", in: "r:v1.0.0", registry: "r.example", want: "r.example/r:v1.0.0"},
		"NoRegistry":      {reason: "a reference without a registry is an error without a default registry", in: plain, err: "it names no registry", hint: "registry.example.com/" + plain},
		"NoRegistryShort": {reason: "a tag is not parsed as a port", in: "r:v1.0.0", err: "it names no registry", hint: "REGISTRY/REPOSITORY:TAG"},
		"BadDefault":      {reason: "an invalid default registry is an error", in: plain, registry: "https://r.example/", err: `registry "https://r.example/": a registry is not a URL`, hint: `with {registry} or XFN_REGISTRY: "r.example"`},
		"SlashDefault":    {reason: "the default registry has no slash at its end", in: plain, registry: "r.example:5000/", err: `registry "r.example:5000/": expected HOST or HOST:PORT`, hint: `: "r.example:5000"`},
		"DefaultWithPath": {reason: "the default registry must be a host without a repository", in: plain, registry: "r.example/org", err: `registry "r.example/org"`, hint: `"r.example", and write the path in the reference: "org/` + plain + `"`},
		"URL":             {reason: "a URL is not a reference", in: "https://r.example/a:v1", err: "not a URL", hint: "r.example/a:v1"},
		"Credentials":     {reason: "a reference must not contain credentials", in: "gold:s3cret@r.example/a:v1", err: `"…@r.example/a:v1": it must not contain credentials`, hint: `"r.example/a:v1"`},
		"CredentialsPort": {reason: "credentials before a host with a port are not part of a reference", in: "gold:s3cret@r.example:5000/a/b:v1", err: `"…@r.example:5000/a/b:v1"`, hint: "docker login"},
		"CredentialsURL":  {reason: "credentials in a URL are not shown", in: "https://gold:s3cret@r.example/a:v1", err: `"…@r.example/a:v1"`, hint: `"r.example/a:v1"`},
		"CredentialsOdd":  {reason: "credentials before the scheme are not shown", in: "gold:s3cret@https://r.example/a:v1", err: `"https://r.example/a:v1"`, hint: `"r.example/a:v1"`},
		"CredentialsAt":   {reason: "a password may contain an at sign", in: "https://gold:s3cret@x/@r.example/a:v1", err: `"…@r.example/a:v1"`},
		"CredentialsBare": {reason: "credentials before a host without a repository are refused", in: "gold:s3cret@r.example:5000", err: `"…@r.example:5000"`},
		"CredentialsHash": {reason: "credentials before a digest are refused", in: "gold:s3cret@r.example/a@" + sha, err: `"…@r.example/a@sha256:0`},
		"DefaultWithUser": {reason: "credentials are not part of the default registry", in: "a:v1", registry: "https://gold:s3cret@r.example", err: `registry "…@r.example"`, hint: `"r.example"`},
		"NoTag":           {reason: "the tag is required", in: "r.example/a/b", err: "it has no tag", hint: "r.example/a/b:v0.1.0"},
		"NoTagWithPort":   {reason: "a port is not parsed as a tag", in: "r.example:5000/a", err: "it has no tag"},
		"EmptyTag":        {reason: "a colon must be followed by a tag", in: "r.example/a:", err: "no tag follows the colon", hint: "or set the variable that it comes from"},
		"TagWithSlash":    {reason: "a tag has no slash", in: "r.example:5000/a:feature/x", err: `"feature/x" is not a tag`, hint: "did you mean feature-x?"},
		"TwoTags":         {reason: "a reference has one tag", in: "r.example/a:v1:v2", err: `"v1:v2" is not a tag`, hint: "name one tag and nothing else, such as v2"},
		"Build":           {reason: "a tag has no plus sign", in: "r.example/a:v1.0.0+1", err: `"v1.0.0+1" is not a tag: expected at most 128 letters`, hint: "did you mean v1.0.0-1?"},
		"Dash":            {reason: "a tag does not begin with a dash", in: "r.example/a:-v1", err: `"-v1" is not a tag`, hint: "such as v0.1.0"},
		"Digest":          {reason: "a digest cannot be pushed to", in: "r.example/a@" + sha, err: "expected a tag, not a digest"},
		"Empty":           {reason: "an empty reference is an error", in: "", err: `reference ""`},
		"Space":           {reason: "a reference must not contain white space", in: "r.example/a b:v1", err: "it contains white space"},
		"Line":            {reason: "an error has one line, whatever the reference contains", in: "r.example/a\nb:v1", err: `"r.example/a\nb:v1": it contains white space`},
		"Escape":          {reason: "an error shows no control characters", in: "r.example/a\x1b[2Jb:v1", err: "or unprintable characters"},
		"Upwards":         {reason: "a repository must not contain ..", in: "r.example/a/../../b:v1", err: "expected a repository name"},
		"Dot":             {reason: "a part of a repository must not be a dot", in: "r.example/a/./b:v1", err: "expected a repository name"},
		"NoPart":          {reason: "a part of a repository must not be empty", in: "r.example/a//b:v1", err: "expected a repository name"},
		"Ends":            {reason: "a part of a repository must not end with a separator", in: "r.example/a-:v1", err: "expected a repository name"},
		"Separators":      {reason: "all separators of the spec are accepted", in: "r.example/a.b/c__d/e---f:v1", want: "r.example/a.b/c__d/e---f:v1"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := remote.ParseTag(tc.in, tc.registry)
			checkError(t, tc.reason, err, tc.err, tc.hint)
			if err == nil && got.Name() != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got.Name(), tc.want)
			}
			checkNoSecret(t, err)
		})
	}
}

func TestCheckTag(t *testing.T) {
	for _, tc := range []struct{ reason, in, err, hint string }{
		{"a tag may have letters, digits and three other characters", "V_1.0-rc", "", ""},
		{"a tag is not a reference", "r.example:5000/a/b:v0.2.0", `"r.example:5000/a/b:v0.2.0" is not a tag`, "such as v0.2.0"},
		{"a tag has no slash", "feature/login", `"feature/login" is not a tag`, "did you mean feature-login?"},
		{"a tag has a limit", strings.Repeat("a", 129), "at most 128 letters", "v0.1.0"},
	} {
		checkError(t, tc.reason, remote.CheckTag(tc.in), tc.err, tc.hint)
	}
}

func TestParseReference(t *testing.T) {
	cases := map[string]struct{ reason, in, registry, want, err string }{
		"Tag":          {reason: "a reference to read may have a tag", in: "r.example/a:v1", want: "r.example/a:v1"},
		"Digest":       {reason: "a reference to read may have a digest", in: "r.example/a@" + sha, want: "r.example/a@" + sha},
		"TagAndDigest": {reason: "a tag before a digest is ignored", in: "r.example/a:v1@" + sha, want: "r.example/a@" + sha},
		"Default":      {reason: "a reference with a digest may be in the default registry", in: "a/b@" + sha, registry: "r.example", want: "r.example/a/b@" + sha},
		"NoRegistry":   {reason: "a digest without a registry is an error without a default registry", in: "a/b@" + sha, err: "it names no registry"},
		"ShortDigest":  {reason: "a digest must have its full length", in: "r.example/a@sha256:00", err: `reference "r.example/a@sha256:00"`},
		"AtTag":        {reason: "an at sign before a tag is an invalid digest, not credentials", in: "r.example/a@v1", err: `reference "r.example/a@v1"`},
		"Credentials":  {reason: "credentials are refused and not shown", in: "https://gold:s3cret@r.example/a@" + sha, err: `reference "…@r.example/a@sha256:0`},
		"Upwards":      {reason: "a repository before a digest must not contain ..", in: "r.example/../a@" + sha, err: "expected a repository name"},
		"NoTag":        {reason: "the tag latest is not implied", in: "r.example/a", err: "it has no tag"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := remote.ParseReference(tc.in, tc.registry)
			checkError(t, tc.reason, err, tc.err, "")
			if err == nil && got.Name() != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got.Name(), tc.want)
			}
			checkNoSecret(t, err)
		})
	}
}

func TestCheckRepository(t *testing.T) {
	for name, tc := range map[string]struct{ reason, in, err, hint string }{
		"Complete": {"a repository may have a registry", "r.example:5000/a/b", "", ""},
		"Short":    {"a repository may be in the default registry", "a/b", "", ""},
		"URL":      {"a repository is not a URL", "https://r.example/a/b", `repository "https://r.example/a/b": a repository is not a URL`, `leave out the scheme: "r.example/a/b"`},
		"Secret":   {"credentials are not part of a repository", "gold:s3cret@r.example/a", "must not contain credentials", "docker login"},
		"Tag":      {"a tag is not part of a repository", "r.example:5000/a/b:v1", "expected a repository in lower case and without a tag", `leave out the tag: "r.example:5000/a/b"`},
		"Digest":   {"a digest is not part of a repository", "r.example/a@" + sha, "expected a repository in lower case and without a tag", `"r.example/a"`},
		"Case":     {"a repository is in lower case", "r.example/Acme/b", "expected a repository in lower case and without a tag", `in lower case: "r.example/acme/b"`},
		"Upwards":  {"a repository must not contain ..", "r.example/a/../b", "expected a repository in lower case and without a tag", ""},
		"CaseHint": {"the hint is a valid repository", "A B", "expected a repository in lower case and without a tag", ""},
		"Space":    {"a repository has no white space", "a b", "expected a repository in lower case and without a tag", ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := remote.CheckRepository(tc.in)
			if (err == nil) != (tc.err == "") || err != nil && (!strings.Contains(err.Error(), tc.err) || !strings.Contains(string(hint.Of(err)), tc.hint) || (tc.hint == "") != (hint.Of(err) == "")) {
				t.Errorf("%s: got %v (hint %q), want %q", tc.reason, err, hint.Of(err), tc.err)
			}
			checkNoSecret(t, err)
		})
	}
}

// ParseTag accepts exactly the references that the crossplane CLI accepts. The
// golden cases contain the CLI's results.
func TestParseTagGolden(t *testing.T) {
	dirs := e2e.Glob(t, "testdata/push/ref-*")
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			args := strings.Fields(e2e.ReadFile(t, dir, "args"))
			ref := args[len(args)-1]
			wantOK := strings.TrimSpace(e2e.ReadFile(t, dir, "exit")) == "0"
			if _, err := remote.ParseTag(ref, ""); (err == nil) != wantOK {
				t.Errorf("%s: got %v, want success %t", ref, err, wantOK)
			} else if err != nil && !strings.Contains(err.Error(), `"`+ref+`"`) {
				t.Errorf("the error does not name the reference: %v", err)
			}
		})
	}
}

func FuzzParseReference(f *testing.F) {
	for _, s := range []string{plain, "r.example/a:v1", "r.example/a:v1@" + sha, "http://x", "localhost/", ":", "/", "@"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		ref, err := remote.ParseReference(s, "r.example")
		if err != nil {
			return
		}
		same, err := remote.ParseReference(ref.Name(), "")
		if err != nil || same.Name() != ref.Name() {
			t.Errorf("%q became %q, which became %v (%v)", s, ref.Name(), same, err)
		}
	})
}

// checkError checks that err contains text, and that its hint contains next. If
// text is empty, err must be nil.
func checkError(t *testing.T, reason string, err error, text, next string) {
	t.Helper()
	switch {
	case text == "" && err != nil:
		t.Fatalf("%s: unexpected error: %v", reason, err)
	case text == "":
		return
	case err == nil:
		t.Fatalf("%s: no error, want one with %q", reason, text)
	case !strings.Contains(err.Error(), text):
		t.Errorf("%s: got error %q, want %q in it", reason, err, text)
	case !strings.Contains(string(hint.Of(err)), next):
		t.Errorf("%s: got hint %q, want %q in it", reason, hint.Of(err), next)
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("%s: the error has more than one line: %q", reason, err)
	}
}
