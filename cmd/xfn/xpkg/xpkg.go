package xpkg

import (
	"fmt"
	"strconv"
	"time"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
)

// Cmd is the group.
type Cmd struct {
	Init    InitCmd    `cmd:"" help:"Make the directory of a new package from a template."`
	Build   BuildCmd   `cmd:"" help:"Build a package file."`
	Lint    LintCmd    `cmd:"" help:"Find what is wrong with a package."`
	Push    PushCmd    `cmd:"" help:"Push a package file to a registry."`
	Verify  VerifyCmd  `cmd:"" help:"Check a package's signature and every digest of it, in its registry."`
	Pull    PullCmd    `cmd:"" help:"Pull a package from a registry into a file."`
	Copy    CopyCmd    `cmd:"" help:"Copy a package from one registry to another, with its signatures."`
	Inspect InspectCmd `cmd:"" help:"Show what a package holds."`
	Extract ExtractCmd `cmd:"" help:"Take package.yaml, examples, a layer or the root file system out of a package."`
	Diff    DiffCmd    `cmd:"" help:"Show what changes from one package to another."`
	GetCRDs GetCRDsCmd `cmd:"" name:"get-crds" help:"Write the CRDs that packages deliver and depend on."`
}

// Help is shown by --help.
func (Cmd) Help() string {
	return `Example:

    xfn xpkg init function-hello go -d function-hello
`
}

// registryFlags are those of commands that reach a registry.
type registryFlags struct{ flags.Registries }

// created is the time that a package says it was made: that of
// SOURCE_DATE_EPOCH (reproducible-builds.org), or else the epoch.
func created(sourceDateEpoch string) (time.Time, error) {
	if sourceDateEpoch == "" {
		return time.Unix(0, 0).UTC(), nil
	}
	const year10000 = 253402300800 // RFC 3339 has four digits for a year
	sec, err := strconv.ParseInt(sourceDateEpoch, 10, 64)
	if err != nil || sec < 0 || sec >= year10000 {
		return time.Time{}, &terminal.UsageError{Err: fmt.Errorf("reading SOURCE_DATE_EPOCH %q: expected the seconds since 1970", sourceDateEpoch)}
	}
	return time.Unix(sec, 0).UTC(), nil
}
