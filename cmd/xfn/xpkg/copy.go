package xpkg

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/push"
)

// CopyCmd copies from one registry to another.
type CopyCmd struct {
	Source      string `arg:"" name:"src" help:"What to copy: REGISTRY/REPOSITORY:TAG or REGISTRY/REPOSITORY@DIGEST."`
	Destination string `arg:"" name:"dst" help:"Where to copy to: REGISTRY/REPOSITORY[:TAG]. Default tag: the tag of SRC."`

	NoSignatures bool `more:"" help:"Leave out signatures, attestations, SBOMs and other attachments of the package."`

	targetFlags
}

// Help is shown by --help.
func (CopyCmd) Help() string {
	return `Copies all platforms with the same bytes and digests, and the attachments of cosign and other tools. Signatures and attestations that only DST has stay there. Sends only what the registry lacks, directly from one registry to the other, and moves the tag last. Prints the reference with the digest.

Examples:

    xfn xpkg copy registry.example.org/acme/hello:v0.1.0 \
        mirror.example.org/acme/hello
    xfn xpkg copy registry.example.org/acme/hello:v0.1.0-rc.3 \
        registry.example.org/acme/hello:v0.1.0 --tag latest
`
}

// Run copies, and prints the references with their digest.
func (c *CopyCmd) Run(ctx context.Context, term *terminal.Terminal, p terminal.Program) error {
	if isFile(c.Source) {
		return hint.Wrap(fmt.Errorf("parsing reference %q: expected a reference, got a file", c.Source),
			fmt.Sprintf("push a file: xfn xpkg push -f %s %s", hint.Word(c.Source), c.Destination))
	}
	from, err := c.Reference(c.Source)
	if err != nil {
		return err
	}
	to, err := c.destination()
	if err != nil {
		return err
	}
	opts, err := c.options(term, p, to)
	if err != nil {
		return err
	}
	WarnTags(term, pushVersion, append(opts.Tags, to)...)
	start := time.Now()
	res, err := push.Copy(ctx, from, to, push.CopyOptions{Options: opts, NoSignatures: c.NoSignatures})
	if err != nil {
		return err
	}
	return c.print(term, res, time.Since(start))
}

// destination returns the reference to copy to, with the tag of the source by default.
func (c *CopyCmd) destination() (name.Tag, error) {
	to := c.Destination
	if remote.IsPath(to) {
		return name.Tag{}, hint.Wrap(fmt.Errorf("parsing reference %q: it is the path of a file, and not a reference", to),
			fmt.Sprintf("pull to a file: xfn xpkg pull %s -o %s", c.Source, hint.Word(to)))
	}
	if tag := tagOf(c.Source); tag != "" && tagOf(to) == "" && !strings.Contains(to, "@") {
		to += ":" + tag
	}
	return c.Target(to)
}

// tagOf returns the tag of a reference, which may have a digest, too.
func tagOf(ref string) string {
	ref, _, _ = strings.Cut(ref, "@")
	_, tag, _ := strings.Cut(ref[strings.LastIndex(ref, "/")+1:], ":")
	return tag
}
