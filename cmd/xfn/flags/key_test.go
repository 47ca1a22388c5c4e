package flags_test

import (
	"os"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
)

// Environment variables can have a key with its line breaks, and the password of the
// key. Errors contain neither.
func TestKeyFromEnvironment(t *testing.T) {
	text := e2e.Must(os.ReadFile("../../../internal/signature/testdata/cosign.key"))(t)
	cases := map[string]struct {
		reason, key string
		password    *string
		err, hint   string
	}{
		"Right":      {"a key and its password are accepted", string(text), new("s3cret"), "", ""},
		"Wrong":      {"a wrong password is an error", string(text), new("hunter2"), `reading key "env://KEY": the password is wrong`, "correct the environment variable COSIGN_PASSWORD"},
		"Newline":    {"a newline is part of a password", string(text), new("s3cret\n"), `the password is wrong: COSIGN_PASSWORD ends with a newline`, "without the newline"},
		"NoPassword": {"a missing password is an error", string(text), nil, `reading key "env://KEY": the key is encrypted, and no password is given`, "COSIGN_PASSWORD"},
		"Empty":      {"an empty password is not a missing one", string(text), new(""), `the password is wrong`, ""},
		"NoKey":      {"text that is not a key is an error", "s3cret", nil, "expected a key in PEM", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KEY", tc.key)
			t.Setenv("COSIGN_PASSWORD", "")
			if tc.password == nil {
				os.Unsetenv("COSIGN_PASSWORD")
			} else {
				t.Setenv("COSIGN_PASSWORD", *tc.password)
			}
			k, err := flags.KeySource("env://KEY").Signer()
			if tc.err == "" {
				if err != nil || k == nil {
					t.Errorf("%s: got %v, error %v", tc.reason, k, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.err) || !strings.Contains(string(hint.Of(err)), tc.hint) {
				t.Fatalf("%s: got error %v (hint: %s), want %q in it", tc.reason, err, hint.Of(err), tc.err)
			}
			for _, secret := range []string{"s3cret", "hunter2", tc.key} {
				if strings.Contains(err.Error()+string(hint.Of(err)), secret) {
					t.Errorf("%s: the error has a secret: %v", tc.reason, err)
				}
			}
		})
	}
}
