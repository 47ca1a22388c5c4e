package oci_test

import (
	"fmt"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/oci"
)

const digest = "@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

func TestRedact(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ reason, text, want string }{
		"Reference":     {"the text of an error contains a quoted reference", `reading "u:s3cret@host/a:v1": no such file`, `reading "…@host/a:v1": no such file`},
		"Several":       {"every reference is redacted", "u:s3cret@host/a v:s3cret@host/b", "…@host/a …@host/b"},
		"List":          {"a comma or a semicolon separates references", "u:s3cret@host/a,v:s3cret@host/b;w:s3cret@host/c", "…@host/a,…@host/b;…@host/c"},
		"Token":         {"a user name before a host with a port can be a token", "s3cret@host:5000/a", "…@host:5000/a"},
		"TokenTag":      {"a user name before a reference with a tag can be a token", "s3cret@host.io/a:v1", "…@host.io/a:v1"},
		"TokenDigest":   {"a user name before a reference with a digest can be a token", "s3cret@host.io/a" + digest, "…@host.io/a" + digest},
		"NoUser":        {"a password may have no user name", ":s3cret@host/a", "…@host/a"},
		"At":            {"a password may contain an @", "u:s3@cret@host/a", "…@host/a"},
		"Slash":         {"a password may contain a slash", "u:s3/cret@host/a", "…@host/a"},
		"FirstSlash":    {"a password may begin with a slash", "u:/s3cret@host/a", "…@host/a"},
		"Backslash":     {"a password may begin with a backslash", `u:\s3cret@host/a`, "…@host/a"},
		"Space":         {"a password in double quotes may contain a space", `parsing "u:s3 cret@host/a": no`, `parsing "…@host/a": no`},
		"Quotes":        {"a password in double quotes may contain escaped quotes", `parsing "u:s3\"c'ret@host/a": no`, `parsing "…@host/a": no`},
		"Port":          {"a port shows that a registry follows", "u:s3cret@host:5000: no such host", "…@host:5000: no such host"},
		"Value":         {"a flag assigns a reference to a name", "f=u:s3cret@host/a:v1", "f=…@host/a:v1"},
		"Digest":        {"the digest of a reference with credentials remains", "u:s3cret@host/a" + digest, "…@host/a" + digest},
		"URL":           {"URLs contain credentials, too", "https://u:s3cret@host/a", "https://…@host/a"},
		"URLToken":      {"the user name of an https URL can be a token", "https://s3cret@host/a", "https://…@host/a"},
		"URLSlash":      {"a URL whose port is not a number has a password with a slash", "https://u:s3/cret@host/a https://u:/s3cret@host/a", "https://…@host/a https://…@host/a"},
		"URLInURL":      {"the path of a URL can contain a URL", "https://proxy/https://u:s3cret@host/a", "https://proxy/https://…@host/a"},
		"TwoURLs":       {"both URLs contain credentials", "https://u:s3cret@proxy/https://u:s3cret@host/a", "https://…@proxy/https://…@host/a"},
		"SSHPassword":   {"the password of an ssh URL is a credential", "ssh://git:s3cret@host/a", "ssh://…@host/a"},
		"BeforeVersion": {"the digest of another reference does not hide credentials", "a:v1" + digest + " u:s3cret@host/a", "a:v1" + digest + " …@host/a"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e2e.Equal(t, tc.reason, tc.want, oci.Redact(tc.text))
		})
	}
}

func TestRedactKeeps(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ reason, text string }{
		"SSH":           {"the user name of an ssh URL is not a credential", "ssh://git@host/a git+ssh://git@host.io/a git@host.io:a/b"},
		"OnlyDigest":    {"the @ before a digest does not end credentials", "a:v1" + digest + " host:5000/b" + digest},
		"Email":         {"an email address contains no credentials", "<ada@example.org> ada@example.org: ada@example.org/x"},
		"Mailto":        {"the scheme of an email address is not a user name", "mailto:ada@example.org user:ada@example.org owner:ada@example.org"},
		"Member":        {"members of IAM policies contain no credentials", "serviceAccount:sa@p.iam.gserviceaccount.com/x"},
		"ARN":           {"a session in an ARN is an email address", "arn:aws:sts::123456789012:assumed-role/user/ada@example.org arn:aws:iam::1:user/ada@example.org/x"},
		"Module":        {"paths of Go modules contain an @", "/go/pkg/mod/example.org/a@v1.2.3/a.go:4:2"},
		"ModuleQuery":   {"the proxy protocol of Go has /@v/ in its paths", "http://localhost:3000/github.com/foo/bar/@v/list"},
		"ModuleHost":    {"a version is not a registry", "https://example.org:80/a/b@v1.2.3/c localhost:3000/foo/bar@v1.2.3-rc.1/c"},
		"LocalModule":   {"a host with a port is not a user name with a password", "localhost:3000/a/b@example.org/c"},
		"WindowsModule": {"a drive letter is not a user name", `C:\go\mod\a@v1.2.3\a.go C:/go/mod/a@v1.2.3/a.go C:\Users\ada@example.org\a.yaml`},
		"Version":       {"an @ after the last slash does not end credentials", "localhost:5000/a@v1"},
		"Folder":        {"the name of a folder ends with a version", "pkg@v2/c.yaml npm:lodash@4.17.21 pkg:npm/a@1.0.0/b"},
		"UserFolder":    {"the name of a folder is an email address", "users/ada@example.org/c.yaml /home/ada@example.org/c.yaml:12:3"},
		"Path":          {"the path of a URL may contain an @", "https://example.org/@ada/x https://example.org/ada@example.org/x"},
		"Scope":         {"an npm scope has no user name", "node_modules/@types/node @types/node"},
		"Sentence":      {"a quoted sentence contains no reference", `"note: ask 'ada' or ada@example.org/x"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e2e.Equal(t, tc.reason, tc.text, oci.Redact(tc.text))
		})
	}
}

func TestRedactor(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ reason, value, text, want string }{
		"Space":     {"the password of a known value may contain spaces", "u:s3 cret@host/a", "reading u:s3 cret@host/a", "reading …@host/a"},
		"Quote":     {"the password of a known value may contain quotes", `u:s3"c're` + "`t@host/a", `reading u:s3"c're` + "`t@host/a", "reading …@host/a"},
		"Escaped":   {"a quoted value has escapes", "u:s3\"c\\ret@host/a", fmt.Sprintf("reading %q", "u:s3\"c\\ret@host/a"), `reading "…@host/a"`},
		"Digits":    {"a known value can begin like a host with a port", "a.b:123/s3cret@host.io/a", "reading a.b:123/s3cret@host.io/a", "reading …@host.io/a"},
		"Host":      {"a known value may have no repository", "u:s3cret@host.io", "lookup u:s3cret@host.io", "lookup …@host.io"},
		"List":      {"a value may be a list, with a comma in a password", "u:s3,cret@host/a,v:s4 cret@host/b", `"u:s3,cret@host/a" "v:s4 cret@host/b"`, `"…@host/a" "…@host/b"`},
		"Flag":      {"a flag and a name precede a reference", "--builtin=f=u:s3 cret@host/a", "f=u:s3 cret@host/a", "f=…@host/a"},
		"Divided":   {"a text may have the parts of a known value before and after its @", "u:s3cret@host/a:v1", `the version "host/a:v1" of "u:s3cret"`, `the version "host/a:v1" of "…"`},
		"Other":     {"other texts are redacted by their form", "a.yaml", "u:s3cret@host/a", "…@host/a"},
		"Path":      {"a path contains no credentials", "users/ada@example.org/a.yaml", "users/ada@example.org/a.yaml ada@example.org", "users/ada@example.org/a.yaml ada@example.org"},
		"ProxyPath": {"the path of a URL contains no credentials", "http://localhost:3000/a/@v/list", "http://localhost:3000/a/@v/list", "http://localhost:3000/a/@v/list"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redact := oci.Redactor([]string{"first", tc.value})
			for range 2 {
				e2e.Equal(t, tc.reason, tc.want, redact(tc.text))
			}
		})
	}
}
