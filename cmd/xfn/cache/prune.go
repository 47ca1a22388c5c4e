package cache

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
)

// PruneCmd prunes the cache.
type PruneCmd struct {
	OlderThan duration `placeholder:"DURATION" xor:"which" help:"Also remove entries that were not used for this time, as in 12h or 30d."`
	All       bool     `xor:"which" help:"Also remove all other entries that no running program uses."`
	DryRun    bool     `help:"Remove nothing, and print what would be removed."`
	flags.Cache
	terminal.Format
}

// Help is shown by --help.
func (PruneCmd) Help() string {
	return `Without flags, xfn cache prune removes files that no image in the cache needs, and files that killed programs left. It never removes images that a running program uses.

Example:

    xfn cache prune --older-than 30d --dry-run
`
}

// outcome is the machine-readable result of xfn cache prune.
type outcome struct {
	Directory string    `json:"directory"`
	DryRun    bool      `json:"dryRun"`
	Removed   []content `json:"removed"`
}

// Run prunes the cache and prints what it removed.
func (c *PruneCmd) Run(ctx context.Context, kctx *kong.Context, term *terminal.Terminal) error {
	dir, err := existing(c.Cache, kctx)
	if err != nil {
		return err
	}
	o := old{dry: c.DryRun}
	switch {
	case c.All:
		o.before = fsx.AfterAllUse()
	case c.OlderThan > 0:
		o.before = time.Now().Add(-time.Duration(c.OlderThan))
	}
	all, err := contents(func(s store) (content, error) { return s.prune(ctx, dir, o) })
	if err != nil {
		return err
	}
	did := "removed"
	if c.DryRun {
		did = "would remove"
	}
	var text strings.Builder
	for _, content := range all {
		for _, e := range content.Entries {
			fmt.Fprintf(&text, "%s %s\n", did, e.Reference)
		}
		fmt.Fprintf(&text, "%s: %s %s\n", content.Store, did, count(content))
	}
	return c.Print(term, outcome{dir, c.DryRun, all}, text.String())
}

// A duration is a duration of Go or a number of days.
type duration time.Duration

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if digits, isDays := strings.CutSuffix(string(text), "d"); isDays {
		const most = 36500 // 100 years, because time.Duration overflows after 292
		var days uint64
		days, err = strconv.ParseUint(digits, 10, 32)
		parsed = time.Duration(min(days, most)) * 24 * time.Hour
	}
	if err != nil || parsed <= 0 {
		return hint.Wrap(fmt.Errorf("expected a positive duration such as 12h or 30d, got %q", text), "write --older-than 12h for hours, or --older-than 30d for days")
	}
	*d = duration(parsed)
	return nil
}
