package oci_test

import (
	"testing"

	"github.com/xfn-dev/xfn/internal/oci"
)

func TestRedact(t *testing.T) {
	t.Parallel()
	const digest = "@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	cases := map[string]struct{ reason, text, want string }{
		"Reference":     {"the text of an error contains a quoted reference", `reading "u:s3cret@host/a:v1": no such file`, `reading "…@host/a:v1": no such file`},
		"Several":       {"every reference is redacted", "u:s3cret@host/a v:s3cret@host/b", "…@host/a …@host/b"},
		"Token":         {"a user name alone can be a token", "s3cret@host:5000/a:v1", "…@host:5000/a:v1"},
		"NoUser":        {"a password may have no user name", ":s3cret@host/a", "…@host/a"},
		"At":            {"a password may contain an @", "u:s3@cret@host/a", "…@host/a"},
		"Slash":         {"a password may contain a slash", "u:s3/cret@host/a", "…@host/a"},
		"NoRepository":  {"a registry has no repository", "u:s3cret@host: no such host", "…@host: no such host"},
		"Value":         {"a flag assigns a reference to a name", "f=u:s3cret@host/a:v1", "f=…@host/a:v1"},
		"Digest":        {"the digest of a reference with credentials remains", "u:s3cret@host/a" + digest, "…@host/a" + digest},
		"URL":           {"URLs contain credentials, too", "https://u:s3cret@host/a", "https://…@host/a"},
		"SSH":           {"the user name of an ssh URL is no credential", "ssh://git@host/a git@host:a/b", "ssh://git@host/a git@host:a/b"},
		"OnlyDigest":    {"the @ before a digest does not end credentials", "a:v1" + digest + " host:5000/b" + digest, "a:v1" + digest + " host:5000/b" + digest},
		"Email":         {"an email address contains no credentials", "<ada@example.org>", "<ada@example.org>"},
		"Module":        {"paths of Go modules contain an @", "/go/pkg/mod/example.org/a@v1.2.3/a.go:4:2", "/go/pkg/mod/example.org/a@v1.2.3/a.go:4:2"},
		"WindowsModule": {"a drive letter is not a user name", `C:\go\mod\a@v1.2.3\a.go C:/go/mod/a@v1.2.3/a.go`, `C:\go\mod\a@v1.2.3\a.go C:/go/mod/a@v1.2.3/a.go`},
		"Version":       {"an @ after the last slash is not about credentials", "localhost:5000/a@v1", "localhost:5000/a@v1"},
		"Scope":         {"an npm scope has no user name", "node_modules/@types/node @types/node", "node_modules/@types/node @types/node"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := oci.Redact(tc.text); got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
