package credentials

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/proc"
)

// maxFile limits the size of a configuration file, in bytes.
const maxFile = 1 << 20

// A file is a configuration of Docker or podman that contains credentials.
type file struct {
	Auths       map[string]entry  `json:"auths"`
	CredHelpers map[string]string `json:"credHelpers"`
	CredsStore  string            `json:"credsStore"`

	name string
}

type entry struct {
	Auth          string `json:"auth"`
	Username      string `json:"username"`
	Password      string `json:"password"`
	IdentityToken string `json:"identitytoken"`
	RegistryToken string `json:"registrytoken"`
}

// read reads the configuration file at path. If the file does not exist, the result has no
// entries. Errors contain name instead of path.
func read(path, name string) (file, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return file{name: name}, nil
	}
	var text []byte
	if err == nil {
		text, err = io.ReadAll(io.LimitReader(f, maxFile+1))
		_ = f.Close()
	}
	if err != nil {
		return file{}, fmt.Errorf("reading %q: %w", name, fsx.Cause(err))
	}
	return parse(name, text)
}

// parse parses the text of a configuration file in JSON. Empty text means no entries.
// Errors contain name, but do not quote the text, which may contain secrets.
func parse(name string, text []byte) (file, error) {
	f := file{name: name}
	if len(text) > maxFile {
		return f, fmt.Errorf("reading %q: expected a configuration of at most %d MiB", name, maxFile>>20)
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return f, nil
	}
	err := json.Unmarshal(text, &f)
	var (
		syntax *json.SyntaxError
		typed  *json.UnmarshalTypeError
		offset int64
	)
	switch {
	case err == nil:
		return f, nil
	case errors.As(err, &syntax):
		offset = syntax.Offset
	case errors.As(err, &typed):
		offset = typed.Offset
	}
	line := 1 + bytes.Count(text[:min(int(offset), len(text))], []byte("\n"))
	err = fmt.Errorf("reading %q, line %d: expected a configuration of Docker or podman in JSON", name, line)
	next := "repair the file, or move it away and log in again"
	if decoded, encoded := base64.StdEncoding.DecodeString(string(bytes.TrimSpace(text))); encoded == nil && json.Valid(decoded) {
		err, next = fmt.Errorf("%w, got its base64 encoding", err), "decode it first with base64 -d"
	} else if name == textVariable {
		next = "write the text of the file config.json; to name a file, set REGISTRY_AUTH_FILE instead of " + name
	}
	return f, hint.Wrap(err, next)
}

// helper returns the suffix of the credential helper for a registry, or "" if there is none.
// alone is true if the helper is configured for this registry only, and false if it is for
// all registries.
func (f file) helper(host string) (program string, alone bool) {
	for _, key := range names(host) {
		if program, ok := f.CredHelpers[key]; ok {
			return program, true
		}
	}
	return f.CredsStore, false
}

// registry returns the credential of the entry for a whole registry, not for a namespace.
// Older versions of Docker wrote the key of such an entry as a URL, such as
// "https://registry.example.org/v1/".
func (f file) registry(host string) (Credential, error) {
	keys := names(host)
	for _, key := range slices.Sorted(maps.Keys(f.Auths)) {
		if slices.Contains(names(host), hostOf(key)) {
			keys = append(keys, key)
		}
	}
	for _, key := range keys {
		if c, err := f.credential(key); err != nil || c.Source != "" {
			return c, err
		}
	}
	return Credential{}, nil
}

// names returns the keys by which a configuration file may name the registry host, the most
// usual first.
func names(host string) []string {
	if host == name.DefaultRegistry {
		return []string{authn.DefaultAuthKey, "docker.io", host, "registry-1.docker.io"}
	}
	return []string{host}
}

// hostOf returns the registry in a key such as "https://HOST/v1/", "HOST/v1/" or "HOST". It
// returns "" for a key such as "HOST/acme", which is for a namespace.
func hostOf(key string) string {
	rest, isURL := strings.CutPrefix(key, "https://")
	if !isURL {
		rest, isURL = strings.CutPrefix(key, "http://")
	}
	host, path, _ := strings.Cut(rest, "/")
	if isURL || path == "" || path == "v1/" || path == "v2/" {
		return host
	}
	return ""
}

// credential returns the credential of the entry called key, or the zero value if there is
// no entry or it is empty. Docker writes an empty entry if a credential helper has the
// credential.
func (f file) credential(key string) (Credential, error) {
	e := f.Auths[key]
	if e == (entry{}) {
		return Credential{}, nil
	}
	auth := authn.AuthConfig{Username: e.Username, Password: e.Password, IdentityToken: e.IdentityToken, RegistryToken: e.RegistryToken}
	if e.Auth != "" {
		raw, err := base64.StdEncoding.DecodeString(e.Auth)
		user, password, ok := strings.Cut(string(raw), ":")
		if err != nil || !ok {
			return Credential{}, hint.Wrap(fmt.Errorf("reading %q: the auth of %q is not USER:PASSWORD in base64", f.name, key), "log in again with: docker login "+key)
		}
		auth.Username, auth.Password = user, strings.Trim(password, "\x00")
	}
	return newCredential(auth, f.name), nil
}

func newCredential(auth authn.AuthConfig, source string) Credential {
	c := Credential{Authenticator: authn.FromConfig(auth), Source: source}
	switch {
	case strings.HasSuffix(auth.Password, "\n"): // A shell adds one with echo.
		c.Source += ", whose password ends with a newline"
		c.Advice = "write the password without the newline, with printf or echo -n"
	case auth.Username != "" && auth == (authn.AuthConfig{Username: auth.Username}):
		c.Source += ", which has no password"
	}
	return c
}

const (
	// maxAnswer limits the output of a credential helper, in bytes. fresh is how long a
	// credential from a helper is cached. Tokens of cloud providers are valid for an hour or
	// more.
	maxAnswer = 1 << 20
	fresh     = 5 * time.Minute
	// grace is how long the output pipe of a killed credential helper may stay open.
	grace = time.Second
)

type question struct{ program, server string }

type answer struct {
	Credential
	at time.Time
}

// ask runs the credential helper "docker-credential-SUFFIX" for a registry, or uses its
// cached result. It returns the zero value if the helper has no credential.
func (k *Keychain) ask(ctx context.Context, f file, suffix, host string) (Credential, error) {
	q := question{"docker-credential-" + suffix, names(host)[0]}
	select {
	case k.turn <- struct{}{}:
		defer func() { <-k.turn }()
	case <-ctx.Done():
		return Credential{}, ctx.Err()
	}
	if a, ok := k.answers[q]; ok && k.s.Now().Sub(a.at) < fresh {
		return a.Credential, nil
	}
	path, err := proc.LookPath(q.program, k.s.Env)
	if err != nil || strings.ContainsAny(suffix, `/\`) {
		err := fmt.Errorf("%q names the credential helper %q, and there is no such program on PATH", f.name, q.program)
		return Credential{}, hint.Wrap(err, "install the program, or remove its name from "+f.name)
	}
	auth, err := k.run(ctx, path, q)
	if err != nil {
		return Credential{}, err
	}
	a := answer{at: k.s.Now()}
	if auth != (authn.AuthConfig{}) {
		a.Credential = newCredential(auth, "credential helper "+q.program)
	}
	k.answers[q] = a
	return a.Credential, nil
}

// run runs a credential helper with the protocol in the README of
// docker-credential-helpers, section "Development". Errors do not contain the helper's
// output, which may be a secret.
func (k *Keychain) run(ctx context.Context, path string, q question) (authn.AuthConfig, error) {
	limited, cancel := context.WithTimeout(ctx, k.s.HelperTimeout)
	defer cancel()
	cmd := exec.CommandContext(limited, path, "get")
	cmd.Env, cmd.Stdin, cmd.WaitDelay = k.s.Env, strings.NewReader(q.server), grace
	proc.KillGroup(cmd)
	var out output
	cmd.Stdout = &out
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return authn.AuthConfig{}, ctx.Err()
	case limited.Err() != nil:
		return authn.AuthConfig{}, tryIt(q, fmt.Errorf("the credential helper %q did not answer within %s", q.program, k.s.HelperTimeout))
	case err != nil && string(bytes.TrimSpace(out.text)) == "credentials not found in native keychain":
		return authn.AuthConfig{}, nil
	case err != nil:
		return authn.AuthConfig{}, tryIt(q, fmt.Errorf("the credential helper %q failed: %w", q.program, err))
	}
	var found struct{ Username, Secret string }
	if json.Unmarshal(out.text, &found) != nil {
		return authn.AuthConfig{}, tryIt(q, fmt.Errorf("the credential helper %q did not return a credential", q.program))
	}
	if found.Secret == "" {
		return authn.AuthConfig{}, nil
	}
	if found.Username == "<token>" {
		return authn.AuthConfig{IdentityToken: found.Secret}, nil
	}
	return authn.AuthConfig{Username: found.Username, Password: found.Secret}, nil
}

func tryIt(q question, err error) error {
	return hint.Wrap(err, fmt.Sprintf("run the helper to see its output: echo %s | %s get", q.server, q.program))
}

// output collects the output of a credential helper. Write fails if the output would exceed
// maxAnswer bytes; package exec then closes the pipe.
type output struct{ text []byte }

func (s *output) Write(p []byte) (int, error) {
	if len(s.text)+len(p) > maxAnswer {
		return 0, errors.New("the output is too large")
	}
	s.text = append(s.text, p...)
	return len(p), nil
}
