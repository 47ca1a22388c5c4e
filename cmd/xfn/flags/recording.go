package flags

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/xfn-dev/xfn/function"
	"github.com/xfn-dev/xfn/internal/fieldpath"
	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/report"
	"github.com/xfn-dev/xfn/internal/session"
	"github.com/xfn-dev/xfn/internal/session/intercept"
)

// recordingFlags say what comes of functions' calls.
type recordingFlags struct {
	Record string `xor:"recording" placeholder:"DIR" help:"Keep every call of a function in a file below DIR, for --replay. No credentials are kept, but all else that functions see."`
	Replay string `xor:"recording" placeholder:"DIR" help:"Answer every call from DIR, and start no function. A call that was not recorded is an error."`
	Twice  bool   `help:"Call each function twice, and fail where its answers differ."`
}

// apply puts what the flags say into the config of a session.
func (f recordingFlags) apply(config *session.Config) error {
	switch {
	case f.Twice && f.Replay != "":
		return errors.New("--twice calls functions, --replay does not: give one of them")
	case f.Twice && config.Cache != "":
		return errors.New("--twice asks functions, --function-response-cache its folder: give one of them")
	case f.Replay != "":
		var err error
		config.Replay, err = Replay(f.Replay)
		return err
	case f.Record == "" && !f.Twice:
		return nil
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

// Replay returns what answers from a recording, with errors that say what differs
// in a call that was not recorded.
func Replay(dir string) (function.Runner, error) {
	if _, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("opening recording %q: %w", dir, fsx.Cause(err))
	}
	return explained(intercept.Replay(dir)), nil
}

// explained adds to a Runner's errors what differs.
func explained(r function.Runner) function.Runner {
	return function.RunnerFunc(func(ctx context.Context, name string, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
		rsp, err := r.RunFunction(ctx, name, req)
		var miss *intercept.MissError
		var differ *intercept.UnstableError
		switch {
		case errors.As(err, &miss) && miss.Recorded == nil:
			return nil, hint.Wrap(err, "record it with --record "+miss.Dir)
		case errors.As(err, &miss):
			return nil, hint.Wrap(differing(err, miss.Recorded, miss.Now), "if that is meant, record it with --record "+miss.Dir)
		case errors.As(err, &differ):
			return nil, differing(err, differ.First, differ.Second)
		}
		return rsp, err
	})
}

// most is how many differences an error tells.
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
	if writeErr := report.WriteFields(&text, changes); writeErr != nil {
		return errors.Join(err, writeErr)
	}
	return fmt.Errorf("%w:\n%s%s", err, strings.TrimRight(text.String(), "\n"), more)
}
