package cache

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/alecthomas/kong"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
)

// InfoCmd shows the cache.
type InfoCmd struct {
	flags.Cache
	terminal.Format
}

// Help is shown by --help.
func (InfoCmd) Help() string {
	return `SIZE is the size of the files of an image. Several images may share files. USED is the time since the last use of the image.

Example:

    xfn cache info --format json
`
}

type cacheInfo struct {
	Directory string    `json:"directory"`
	Stores    []content `json:"stores"`
}

// Run prints the content of the cache.
func (c *InfoCmd) Run(ctx context.Context, kctx *kong.Context, term *terminal.Terminal) error {
	dir, err := existing(c.Cache, kctx)
	if err != nil {
		return err
	}
	all, err := contents(func(s store) (content, error) { return s.info(ctx, dir) })
	if err != nil {
		return err
	}
	return c.Print(term, cacheInfo{dir, all}, list(dir, all, time.Now()))
}

// list returns a line for each store, and a table of the entries.
func list(dir string, all []content, now time.Time) string {
	var b strings.Builder
	fmt.Fprintln(&b, dir)
	for _, c := range all {
		fmt.Fprintf(&b, "%s: %s\n", c.Store, count(c))
	}
	tw := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	head := "\nNAME\tDIGEST\tSIZE\tUSED\n"
	for _, c := range all {
		for _, e := range c.Entries {
			fmt.Fprintf(tw, "%s%s\t%s\t%s\t%s\n", head, e.Reference, terminal.ShortDigest(e.Digest), terminal.Size(e.Bytes), age(now.Sub(e.Used)))
			head = ""
		}
	}
	_ = tw.Flush() // A strings.Builder never fails.
	return b.String()
}

// count returns the number and size of a store's files.
func count(c content) string {
	text := fmt.Sprintf("%s, %s", terminal.Count(c.Files, cmp.Or(c.noun, "file")), terminal.Size(c.Bytes))
	if c.Leftovers > 0 {
		text += fmt.Sprintf("; %d unfinished, %s", c.Leftovers, terminal.Size(c.LeftoverBytes))
	}
	return text
}

// age returns a duration in its largest unit.
func age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	default:
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	}
}
