package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/proc"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/report"
)

// Format is the flag for the format of the output.
type Format struct {
	Format string `enum:"text,json,yaml" default:"text" help:"Print ${enum}."`
}

// Print prints a value as JSON or YAML, or otherwise text.
func (f Format) Print(t *Terminal, value any, text string) (err error) {
	switch f.Format {
	case "json":
		err = manifest.WriteJSON(t.Stdout, "  ", value)
	case "yaml":
		var raw []byte
		if raw, err = yaml.Marshal(value); err == nil {
			_, err = t.Stdout.Write(raw)
		}
	default:
		_, err = io.WriteString(t.Stdout, text)
	}
	return Wrap(err, "printing the result")
}

// WriteFile calls write with the file at path, as fsx.Write does.
func WriteFile(path string, write func(io.Writer) error) error {
	return Wrap(fsx.Write(path, 0o644, write), "writing %q", path)
}

// WriteNamed writes a file in a directory that may not exist, and prints its path.
func (t *Terminal) WriteNamed(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("making %q: %w", filepath.Dir(path), fsx.Cause(err))
	}
	if err := fsx.WriteFile(path, 0o644, text); err != nil {
		return fmt.Errorf("writing %q: %w", path, err)
	}
	return t.Printf("%s\n", path)
}

// Printf prints a part of a command's result.
func (t *Terminal) Printf(format string, args ...any) error {
	_, err := fmt.Fprintf(t.Stdout, format, args...)
	return Wrap(err, "printing the result")
}

// Lines returns a text of lines.
func Lines(all ...string) string { return strings.Join(append(all, ""), "\n") }

// Size formats a number of bytes: "1.5 MiB".
func Size(n int64) string {
	if n < 1<<10 {
		return fmt.Sprintf("%d B", n)
	}
	value, units := float64(n)/(1<<10), []string{"KiB", "MiB", "GiB", "TiB"}
	unit := 0
	for value >= 1<<10 && unit < len(units)-1 {
		value /= 1 << 10
		unit++
	}
	return fmt.Sprintf("%.1f %s", value, units[unit])
}

// Count returns a number with its noun: "1 image", "2 images".
func Count(n int, thing string) string { return report.Count(n, thing) }

// ShortDigest returns the first 12 digits of a digest, with its algorithm.
func ShortDigest(digest string) string { return digest[:min(len(digest), len("sha256:")+12)] }

// closeTimeout limits cleaning up, so that Ctrl-C always ends a command.
const closeTimeout = 10 * time.Second

// Close calls stop with a context that ends closeTimeout from now, even if ctx is
// done, and joins its error to err.
func Close(ctx context.Context, stop func(context.Context) error, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	if stopErr := stop(ctx); stopErr != nil {
		return errors.Join(err, stopErr)
	}
	return err
}

// Cause adds the cause of ctx to err if the end of ctx caused err.
func Cause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, ctx.Err()) && !errors.Is(err, cause) {
		return fmt.Errorf("%w; %w", err, cause)
	}
	return err
}

// WithTimeout returns a copy of ctx that ends after d, without the time of a proc.Pause. Its
// cause names --timeout.
func WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return proc.WithTimeout(ctx, d, hint.Wrap(fmt.Errorf("timed out after %s", d), "raise the limit with --timeout"))
}

// A Program identifies this program.
type Program struct {
	// Name is the name by which it was called: xfn, or crossplane for a link.
	Name string
	// Version is the version of the build, such as "v0.1.0".
	Version string
	// Detail shows events, and steps only for --verbose. It may be nil.
	Detail progress.Func
}

// Wrap returns err after a text and a colon, or nil if err is nil.
func Wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), err)
}

// UserAgent returns the name of the program for servers.
func (p Program) UserAgent() string { return "xfn/" + p.Version }

// A UsageError reports arguments or flags that kong accepts, but the command does not.
type UsageError struct{ Err error }

// Usage returns err as a UsageError, or nil if err is nil.
func Usage(err error) error {
	if err == nil {
		return nil
	}
	return &UsageError{err}
}

// Error returns the text of the cause.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *UsageError) Unwrap() error { return e.Err }
