package xpkg

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/signature"
)

// KeygenCmd generates a key pair.
type KeygenCmd struct {
	Output       string `writes:"cosign" short:"o" default:"cosign" placeholder:"PREFIX" help:"Write PREFIX.key and PREFIX.pub, which must not exist. Default: ${default}."`
	PasswordFile string `placeholder:"FILE" help:"File whose first line is the password; - is stdin. Default: COSIGN_PASSWORD, or the terminal."`

	terminal.Format
}

// Help is shown by --help.
func (KeygenCmd) Help() string {
	return `Generates an ECDSA key on P-256, as cosign generate-key-pair does. The private key is encrypted with a password, which may be empty. Sign with it: xfn xpkg push --sign-key cosign.key. Prints the names of the files.

Examples:

    xfn xpkg keygen
    xfn xpkg keygen -o release --password-file password.txt
`
}

// keyPair is the output of xfn xpkg keygen --format json.
type keyPair struct {
	PrivateKey string `json:"privateKey"`
	PublicKey  string `json:"publicKey"`
}

// Run generates the key pair, and prints the names of its files.
func (c *KeygenCmd) Run(ctx context.Context, term *terminal.Terminal) error {
	files := keyPair{c.Output + ".key", c.Output + ".pub"}
	for _, path := range []string{files.PrivateKey, files.PublicKey} {
		switch _, err := os.Lstat(path); {
		case err == nil:
			return hint.Wrap(fmt.Errorf("writing key %q: the file exists", path), "name other files with --output, or remove the file")
		case !errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("writing key %q: %w", path, fsx.Cause(err))
		}
	}
	password, err := c.password(ctx, term)
	if err != nil {
		return err
	}
	key, err := signature.Generate()
	if err != nil {
		return err
	}
	private, err := key.Encrypt(password)
	if err != nil {
		return err
	}
	public, err := key.Public().PEM()
	if err != nil {
		return err
	}
	if err := fsx.WriteFile(files.PrivateKey, 0o600, private); err != nil {
		return fmt.Errorf("writing key %q: %w", files.PrivateKey, err)
	}
	if err := fsx.WriteFile(files.PublicKey, 0o644, public); err != nil {
		return errors.Join(fmt.Errorf("writing key %q: %w", files.PublicKey, err), os.Remove(files.PrivateKey))
	}
	return c.Print(term, files, terminal.Lines(files.PrivateKey, files.PublicKey))
}

func (c *KeygenCmd) password(ctx context.Context, t *terminal.Terminal) ([]byte, error) {
	if c.PasswordFile != "" {
		text, err := readSecret(t, c.PasswordFile)
		if err != nil {
			return nil, fmt.Errorf("reading password file %q: %w", c.PasswordFile, err)
		}
		line, _, _ := strings.Cut(string(text), "\n")
		return []byte(strings.TrimSuffix(line, "\r")), nil
	}
	if p, ok := os.LookupEnv(flags.PasswordVariable); ok {
		return []byte(p), nil
	}
	if !t.Interactive() {
		return nil, hint.Wrap(errors.New("the key needs a password, and stdin is not a terminal"), "use --password-file, or set the environment variable "+flags.PasswordVariable+", which may be empty")
	}
	first, err := askPassword(ctx, t, "password of the new key: ")
	if err != nil {
		return nil, err
	}
	again, err := askPassword(ctx, t, "the same password again: ")
	if err != nil {
		return nil, err
	}
	if string(first) != string(again) {
		return nil, errors.New("the two passwords differ")
	}
	return first, nil
}

// askPassword reads a password from the terminal, which does not show it. If ctx ends first, it
// restores the terminal, and a read of stdin continues until the process exits.
func askPassword(ctx context.Context, t *terminal.Terminal, prompt string) ([]byte, error) {
	fd := int(t.Stdin.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return nil, fmt.Errorf("reading a password from the terminal: %w", err)
	}
	fmt.Fprint(t.Stderr(), prompt)
	text, err := proc.Await(ctx, func() ([]byte, error) { return term.ReadPassword(fd) })
	if ctx.Err() != nil {
		err = errors.Join(err, term.Restore(fd, before))
	}
	fmt.Fprintln(t.Stderr())
	return text, terminal.Wrap(err, "reading a password from the terminal")
}

// readSecret reads a small file, or stdin if path is "-".
func readSecret(t *terminal.Terminal, path string) ([]byte, error) {
	const limit = 64 << 10
	if path == "-" {
		return fsx.ReadAll(t.Stdin, limit)
	}
	return fsx.ReadFile(path, limit)
}
