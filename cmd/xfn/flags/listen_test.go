package flags_test

import (
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
)

func TestAt(t *testing.T) {
	socket := filepath.Join(e2e.ShortDir(t), "s")
	cases := map[string]struct{ reason, address, want string }{
		"Port":     {"port 0 selects a free port", "127.0.0.1:0", "127.0.0.1:"},
		"Socket":   {"a socket is a target with its path", "unix://" + socket, "unix://" + socket},
		"Short":    {"a socket can be named with unix:", "unix:" + socket, "unix://" + socket},
		"Abstract": {"an abstract socket has a scheme of its own", "unix:@xfn/" + socket, "unix-abstract:xfn/" + socket},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if name == "Abstract" && runtime.GOOS != "linux" {
				t.Skip("only Linux has abstract sockets")
			}
			l := e2e.Must(flags.ListenAt(t.Context(), tc.address))(t)
			if got := flags.DialTarget(l.Addr()); !strings.HasPrefix(got, tc.want) || strings.HasSuffix(got, ":0") {
				t.Errorf("%s: got %s", tc.reason, got)
			}
			if _, err := flags.ListenAt(t.Context(), strings.TrimSuffix(tc.address, ":0")); err == nil || hint.Of(err) == "" || !strings.HasPrefix(err.Error(), "listening on ") {
				t.Errorf("an address in use is an error: got %v", err)
			}
			e2e.NoError(t, l.Close())
		})
	}
	e2e.Equal(t, "a target is a URL", "unix:///a%2520b%23", flags.DialTarget(&net.UnixAddr{Name: "/a%20b#", Net: "unix"}))
	e2e.Equal(t, "a relative path needs another form", "unix:s", flags.DialTarget(&net.UnixAddr{Name: "s", Net: "unix"}))
	e2e.ErrorIs(t, "the socket was not removed", e2e.Err(os.Lstat(socket)), fs.ErrNotExist)
}

// Listen replaces the socket of a killed process, but not a regular file.
func TestOnDeadSocket(t *testing.T) {
	dir := e2e.ShortDir(t)
	dead := e2e.Must(net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "dead"), Net: "unix"}))(t)
	dead.SetUnlinkOnClose(false)
	e2e.NoError(t, dead.Close())
	l, err := flags.Listen(t.Context(), "unix", filepath.Join(dir, "dead"))
	e2e.NoError(t, err)
	defer l.Close()
	file := filepath.Join(dir, "file")
	e2e.WriteFile(t, file, "precious")
	_, err = flags.Listen(t.Context(), "unix", file)
	e2e.ErrorHas(t, "a file where the socket would be is an error", err, "address already in use")
	e2e.Equal(t, "a socket has another path, not another port", "choose another path with --address PATH", string(hint.Of(err)))
	err = e2e.Err(flags.ListenAt(t.Context(), "unix://"+file))
	e2e.Equal(t, "a socket in an address keeps its scheme", "choose another path with --address unix://PATH", string(hint.Of(err)))
	e2e.Equal(t, "listening does not change a regular file", "precious", e2e.ReadFile(t, file))
	e2e.Equal(t, "a missing address is an error", `listening on "": the address is empty`, fmt.Sprint(e2e.Err(flags.Listen(t.Context(), "tcp", ""))))
	if runtime.GOOS != "windows" {
		long := filepath.Join(dir, strings.Repeat("x", 200))
		e2e.ErrorHas(t, "a path that is too long for a socket is an error", e2e.Err(flags.Listen(t.Context(), "unix", long)), "bytes, more than the system allows")
	}
}
