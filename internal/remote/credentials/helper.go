package credentials

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/proc"
)

const (
	// maxAnswer limits the output of a helper, and fresh the time for which it is
	// cached. Tokens of cloud providers are valid for an hour or more.
	maxAnswer = 1 << 20
	fresh     = 5 * time.Minute
	// grace is the time after which the output of a killed helper is closed.
	grace = time.Second
)

type question struct{ program, server string }

type answer struct {
	Credential
	at time.Time
}

// ask returns the credential for a registry of the helper with that suffix, or the zero
// value if it has none.
func (k *Keychain) ask(ctx context.Context, f file, suffix, host string) (Credential, error) {
	q := question{"docker-credential-" + suffix, names(host)[0]}
	select {
	case k.turn <- struct{}{}:
		defer func() { <-k.turn }()
	case <-ctx.Done():
		return Credential{}, ctx.Err()
	}
	if a, ok := k.said[q]; ok && k.s.Now().Sub(a.at) < fresh {
		return a.Credential, nil
	}
	path, err := proc.LookPath(q.program, k.s.Env)
	if err != nil || strings.ContainsAny(suffix, `/\`) {
		return Credential{}, hint.Wrap(
			fmt.Errorf("%q names the credential helper %q, and there is no such program on PATH", f.name, q.program),
			fmt.Sprintf("install the program, or take its name out of %s", f.name),
		)
	}
	auth, err := k.run(ctx, path, q)
	if err != nil {
		return Credential{}, err
	}
	a := answer{at: k.s.Now()}
	if auth != (authn.AuthConfig{}) {
		a.Credential = Credential{authn.FromConfig(auth), "credential helper " + q.program}
	}
	k.said[q] = a
	return a.Credential, nil
}

// run runs a helper: docker-credential-helpers, "Development". Errors do not contain its
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
	return hint.Wrap(err, fmt.Sprintf("see what it says: echo %s | %s get", q.server, q.program))
}

// output is the output of a helper. At its limit the pipe is closed.
type output struct{ text []byte }

// Write implements io.Writer.
func (s *output) Write(p []byte) (int, error) {
	if len(s.text)+len(p) > maxAnswer {
		return 0, errors.New("its output is too large")
	}
	s.text = append(s.text, p...)
	return len(p), nil
}
