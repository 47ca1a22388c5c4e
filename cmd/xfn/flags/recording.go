package flags

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/report"
	"github.com/xfn-dev/xfn/internal/session"
	"github.com/xfn-dev/xfn/internal/session/intercept"
)

// recordingFlags are the flags for recording, replaying and repeating calls.
type recordingFlags struct {
	Record string `writes:"calls/" more:"" xor:"recording" placeholder:"DIR" help:"Write every call of a function to a file below DIR, for --replay. Files contain all data that functions see, except credentials."`
	Replay string `more:"" xor:"recording" placeholder:"DIR" help:"Return the recorded responses in DIR, and start no function. A call that was not recorded is an error."`
	Twice  bool   `more:"" help:"Call each function twice, and fail if the responses differ."`
}

func (f recordingFlags) apply(config *session.Config) error {
	if err := CheckDir("function-response-cache", config.Cache); err != nil {
		return err
	}
	switch {
	case f.Twice && f.Replay != "":
		return errors.New("--twice and --replay cannot be used together")
	case f.Twice && config.Cache != "":
		return errors.New("--twice and --function-response-cache cannot be used together")
	case f.Replay != "":
		var err error
		config.Replay, err = Replay(f.Replay)
		return err
	case f.Record == "" && !f.Twice:
		return nil
	}
	if err := CheckDir("record", f.Record); f.Record != "" && err != nil {
		return err
	}
	config.Wrap = func(r function.Runner) function.Runner {
		if f.Twice {
			r = intercept.Twice(r)
		}
		if f.Record != "" {
			r = intercept.Record(f.Record, r)
		}
		return explained(r)
	}
	return nil
}

// Replay returns a Runner that replays the recording in dir. If a call was not recorded,
// the error shows how its request differs from a recorded request.
func Replay(dir string) (function.Runner, error) {
	if _, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("opening recording %q: %w", dir, fsx.Cause(err))
	}
	return explained(intercept.Replay(dir)), nil
}

// explained returns a Runner that calls r. To a *intercept.MissError it adds how the
// request differs from a recorded request, and to a *intercept.UnstableError how two
// responses to the same request differ.
func explained(r function.Runner) function.Runner {
	return function.RunnerFunc(func(ctx context.Context, name string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		rsp, err := r.RunFunction(ctx, name, req)
		var miss *intercept.MissError
		var differ *intercept.UnstableError
		switch {
		case errors.As(err, &miss) && miss.Recorded == nil:
			return nil, hint.Wrap(err, "record the call with --record "+miss.Dir)
		case errors.As(err, &miss):
			return nil, hint.Wrap(differing(err, miss.Recorded, miss.Now), "if the change is intended, record the call with --record "+miss.Dir)
		case errors.As(err, &differ):
			return nil, differing(err, differ.First, differ.Second)
		}
		return rsp, err
	})
}

// most is the maximum number of differences in an error.
const most = 20

func differing(err error, before, after map[string]any) error {
	changes := fieldpath.Diff(before, after)
	if len(changes) == 0 {
		return err
	}
	more := ""
	if n := len(changes) - most; n > 0 {
		changes, more = changes[:most], fmt.Sprintf("\nand %d more", n)
	}
	var text strings.Builder
	if writeErr := report.WriteFields(&text, changes, report.Style{Columns: 80}); writeErr != nil {
		return errors.Join(err, writeErr)
	}
	return fmt.Errorf("%w:\n%s%s", err, strings.TrimRight(text.String(), "\n"), more)
}
