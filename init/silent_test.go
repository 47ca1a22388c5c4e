package scaffold_test

import (
	"context"
	"net"
	"testing"

	scaffold "github.com/xfn-dev/xfn/init"
	"github.com/xfn-dev/xfn/internal/e2e"
)

// The user learns after seconds that a git server accepts connections and says nothing.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	e2e.NoError(t, err)
	defer func() { _ = l.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	warned := ""
	_, err = scaffold.Init(ctx, scaffold.Options{
		Name: "a", Template: "git://" + l.Addr().String() + "/a.git", Dir: t.TempDir(),
		Warn: func(text string) { warned = text; cancel() },
	})
	e2e.ErrorHas(t, "canceling the context ends the wait for the server", err, context.Canceled.Error())
	e2e.Equal(t, "the warning says how long the server has not responded", "the git server has not responded for 5s; the request fails after 1m0s", warned)
}
