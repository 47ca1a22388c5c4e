package flags

import (
	"crypto"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/signature"
)

// PasswordVariable is the environment variable with the password of encrypted
// keys, as in cosign.
const PasswordVariable = "COSIGN_PASSWORD"

// A KeySource is the location of a key: FILE or env://NAME.
type KeySource string

var variable = proc.Regexp(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Decode implements kong.MapperValue, because kong's own errors would show the
// value, which may be a key.
func (from *KeySource) Decode(ctx *kong.DecodeContext) error {
	const begin = "-----"
	token := ctx.Scan.Pop()
	text, _ := token.Value.(string)
	scheme, rest, isURL := strings.Cut(text, "://")
	switch {
	case strings.Contains(text, begin), isURL && scheme == "env" && !variable().MatchString(rest):
		return errors.New("expected FILE or env://NAME, and not the key itself")
	case text == "", !token.IsValue():
		return errors.New("expected FILE or env://NAME")
	case isURL && scheme != "env":
		return fmt.Errorf("expected FILE or env://NAME, and not %q: no other place of keys is supported", scheme+"://…")
	}
	for _, prefix := range []string{"env:", "$"} {
		if name, ok := strings.CutPrefix(text, prefix); ok && variable().MatchString(name) {
			if _, err := os.Stat(text); err != nil {
				return hint.Wrap(fmt.Errorf("expected FILE or env://NAME, got %q", text), "did you mean env://"+name+"?")
			}
		}
	}
	*from = KeySource(text)
	return nil
}

// Signer reads a private key. It returns nil for an empty source.
func (from KeySource) Signer() (crypto.Signer, error) {
	if from == "" {
		return nil, nil
	}
	key, err := readKey(from, signature.ParsePrivateKey)
	return key.Signer(), err
}

// PublicKeys reads public keys.
func PublicKeys(from []KeySource) ([]*signature.PublicKey, error) {
	keys := make([]*signature.PublicKey, 0, len(from))
	for _, f := range from {
		k, err := readKey(f, func(text, _ []byte) (*signature.PublicKey, error) { return signature.ParsePublicKey(text) })
		if err != nil {
			return nil, err
		}
		keys = append(keys, k)
	}
	return keys, nil
}

func readKey[K any](from KeySource, parse func(text, password []byte) (K, error)) (k K, err error) {
	text, err := from.Read()
	if err == nil {
		var password []byte // nil if the variable is not set
		if p, ok := os.LookupEnv(PasswordVariable); ok {
			password = []byte(p)
		}
		k, err = parse(text, password)
	}
	switch {
	case errors.Is(err, signature.ErrNoPassword):
		err = hint.Wrap(err, "set the environment variable "+PasswordVariable+", which may be empty")
	case errors.Is(err, signature.ErrPassword) && strings.HasSuffix(os.Getenv(PasswordVariable), "\n"):
		err = hint.Wrap(fmt.Errorf("%w: %s ends with a newline", err, PasswordVariable), "set it without the newline, as in "+PasswordVariable+"=$(cat FILE)")
	case errors.Is(err, signature.ErrPassword):
		err = hint.Wrap(err, "correct the environment variable "+PasswordVariable)
	}
	return k, terminal.Wrap(err, "reading key %q", string(from))
}

// Read returns the text of the key. Its errors do not name the source.
func (from KeySource) Read() ([]byte, error) {
	if name, ok := strings.CutPrefix(string(from), "env://"); ok {
		text, ok := os.LookupEnv(name)
		if !ok {
			return nil, fmt.Errorf("the environment variable %s is not set", name)
		}
		return []byte(text), nil
	}
	return fsx.ReadFile(string(from), signature.MaxKey)
}
