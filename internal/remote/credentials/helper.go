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
	// maxAnswer is how much a helper may say, and fresh how long it holds. Tokens
	// of clouds live for an hour or more.
	maxAnswer = 1 << 20
	fresh     = 5 * time.Minute
	// grace is how long a helper that was killed may keep its output open.
	grace = time.Second
)

type question struct{ program, server string }

type answer struct {
	Credential
	at time.Time
}

// ask returns what the helper with that suffix says of a registry, or the zero
// value if it knows nothing.
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

// run runs a helper: docker-credential-helpers, "Development". Nothing of what it
// prints is in an error, as it may be a secret.
func (k *Keychain) run(ctx context.Context, path string, q question) (authn.AuthConfig, error) {
	limited, cancel := context.WithTimeout(ctx, k.s.HelperTimeout)
	defer cancel()
	cmd := exec.CommandContext(limited, path, "get")
	cmd.Env, cmd.Stdin, cmd.WaitDelay = k.s.Env, strings.NewReader(q.server), grace
	proc.KillGroup(cmd)
	var out said
	cmd.Stdout = &out
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return authn.AuthConfig{}, ctx.Err()
	case limited.Err() != nil:
		return authn.AuthConfig{}, tryIt(q, fmt.Errorf("the credential helper %q did not answer within %s", q.program, k.s.HelperTimeout))
	case err != nil && knowsNothing(out.text):
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

// knowsNothing recognises how helpers say that they have no entry.
func knowsNothing(text []byte) bool {
	return string(bytes.TrimSpace(text)) == "credentials not found in native keychain"
}

func tryIt(q question, err error) error {
	return hint.Wrap(err, fmt.Sprintf("see what it says: echo %s | %s get", q.server, q.program))
}

// said is what a helper prints, up to a limit at which its pipe is closed.
type said struct{ text []byte }

// Write implements io.Writer.
func (s *said) Write(p []byte) (int, error) {
	if len(s.text)+len(p) > maxAnswer {
		return 0, errors.New("it says too much")
	}
	s.text = append(s.text, p...)
	return len(p), nil
}
