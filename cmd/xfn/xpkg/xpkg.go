package xpkg

import (
	"fmt"
	"strconv"
	"time"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/remote"
)

// Cmd is the group.
type Cmd struct {
	Init  InitCmd  `cmd:"" help:"Make the directory of a new package from a template."`
	Build BuildCmd `cmd:"" help:"Build a package file."`
	Push  PushCmd  `cmd:"" help:"Push a package file to a registry."`
	Pull  PullCmd  `cmd:"" help:"Pull a package from a registry into a file."`
}

// Help is shown by --help.
func (Cmd) Help() string {
	return `Example:

    xfn xpkg init function-hello go -d function-hello
`
}

// registryFlags say how to reach a registry.
type registryFlags struct {
	Registry              string `env:"XFN_REGISTRY" placeholder:"HOST" help:"The registry of references that name none."`
	InsecureSkipTLSVerify bool   `name:"insecure-skip-tls-verify" help:"Accept any TLS certificate."`
}

func (f registryFlags) client(p terminal.Program) *remote.Client {
	return remote.New(remote.Options{UserAgent: p.UserAgent(), InsecureSkipTLSVerify: f.InsecureSkipTLSVerify})
}

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
