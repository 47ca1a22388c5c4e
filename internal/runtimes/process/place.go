package process

import (
	"context"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/xfn-dev/xfn/internal/runtimes/local"
)

func executableName() string {
	if runtime.GOOS == "windows" {
		return "function.exe"
	}
	return "function"
}

// An address is where a function listens: the gRPC target, and the arguments
// for the function.
type address struct {
	target string
	args   []string
}

func unixAddress(dir local.Dir) address {
	path := dir.Socket()
	return address{target: "unix://" + path, args: []string{local.Flag("network", "unix"), local.Flag("address", path)}}
}

// loopbackAddress returns an address with a port that was free when it looked.
func loopbackAddress(ctx context.Context) (address, error) {
	host, err := local.LoopbackAddress(ctx)
	return address{target: host, args: []string{local.Flag("address", host)}}, err
}

// command returns the command that runs prog as a function at addr, in the
// directory of prog.
func (prog program) command(addr address) *exec.Cmd {
	args := append([]string{local.Insecure()}, addr.args...)
	cmd := exec.Command(prog.path, args...)
	cmd.Dir = filepath.Dir(prog.path)
	cmd.Env = prog.env
	return cmd
}

// inheritedVars lists the variables that a function inherits from its user:
// paths of this machine, the locale and the time zone.
var inheritedVars = []string{
	"PATH", "TZ", "LANG", "LC_ALL", "SSL_CERT_FILE", "SSL_CERT_DIR",
	"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", // for Windows
}

// Environment returns the variables of environ, as "KEY=value", that functions
// may read: the search path, locale, time zone, CA certificates and the system
// folders of Windows. All others may be secret.
func Environment(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		key, _, _ := strings.Cut(kv, "=")
		return !slices.Contains(inheritedVars, strings.ToUpper(key))
	})
}

// environment returns the environment of a function in dir, which is its home
// and temporary directory, and the variables of the user. The last value of a
// key applies.
func environment(dir string, user []string) []string {
	var env []string
	for _, key := range []string{"HOME", "TMPDIR", "TMP", "TEMP", "USERPROFILE"} {
		env = append(env, key+"="+dir)
	}
	return append(env, user...)
}
