package xpkg

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/push"
)

// CopyCmd copies from one registry to another.
type CopyCmd struct {
	Source      string `arg:"" name:"src" help:"What to copy: REGISTRY/REPOSITORY:TAG or REGISTRY/REPOSITORY@DIGEST."`
	Destination string `arg:"" name:"dst" help:"Where to: REGISTRY/REPOSITORY[:TAG]. Without a tag, that of SRC."`

	NoSignatures bool `help:"Leave out signatures, attestations, SBOMs and whatever else is attached to the package."`

	targetFlags
}

// Help is shown by --help.
func (CopyCmd) Help() string {
	return `All of it is copied, for all platforms, byte for byte and at the same digests: also what cosign and others have attached to it. Signatures at DST that SRC does not have are replaced, as cosign keeps all of them at one tag. Only what the registry lacks is sent, straight from the one to the other, and the tag moves last. Prints the reference with the digest that was copied.

Examples:

    xfn xpkg copy registry.example.org/acme/hello:v0.1.0 \
        mirror.example.org/acme/hello
    xfn xpkg copy registry.example.org/acme/hello:v0.1.0-rc.3 \
        registry.example.org/acme/hello:v0.1.0 --tag latest
`
}

// Run copies, and prints what is now at the tags.
func (c *CopyCmd) Run(ctx context.Context, term *terminal.Terminal, p terminal.Program) error {
	from, err := c.source()
	if err != nil {
		return err
	}
	to, err := c.destination()
	if err != nil {
		return err
	}
	opts, err := c.options(p, to)
	if err != nil {
		return err
	}
	opts.Progress = progress.Func(term.Progress).Plain()
	start := time.Now()
	res, err := push.Copy(ctx, from, to, push.CopyOptions{Options: opts, NoSignatures: c.NoSignatures})
	if err != nil {
		return err
	}
	return c.print(term, res, time.Since(start))
}

func (c *CopyCmd) source() (name.Reference, error) {
	if isFile(c.Source) {
		return nil, hint.Wrap(fmt.Errorf("parsing reference %q: it is a file, and no reference", c.Source),
			fmt.Sprintf("push a file: xfn xpkg push -f %s %s", c.Source, c.Destination))
	}
	return c.Reference(c.Source)
}

// destination is where to copy to, by the tag of the source if it has none.
func (c *CopyCmd) destination() (name.Tag, error) {
	to := c.Destination
	if tag := tagOf(c.Source); tag != "" && tagOf(to) == "" && !strings.Contains(to, "@") {
		to += ":" + tag
	}
	return remote.ParseTag(to, c.Registry)
}

// tagOf is the tag that a reference has, also beside a digest.
func tagOf(ref string) string {
	ref, _, _ = strings.Cut(ref, "@")
	_, tag, _ := strings.Cut(ref[strings.LastIndex(ref, "/")+1:], ":")
	return tag
}
