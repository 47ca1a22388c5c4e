// Command caller starts sandboxes as xfn does. It is statically linked, so that a sandbox
// whose root has no libraries can execute the supervisor's program as the interpreter of
// a script.
//
// The argument is a root directory with such a script and the program hostile. The
// command prints the results to stdout.
package main

import (
	"context"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/xfn-dev/xfn/internal/sandbox"
)

// interpreterVar is the environment variable that makes this program the interpreter of
// the script.
const interpreterVar = "INTERPRETER"

func main() {
	if code, is := sandbox.Supervise(os.Args); is {
		os.Exit(code)
	}
	if os.Getenv(interpreterVar) != "" {
		interpret()
		return
	}
	run(os.Args[1], "/script")
	run(os.Args[1], "/hostile", "hello") // a second sandbox, whose supervisor runs the same program
}

func run(root string, args ...string) {
	p, err := sandbox.Start(context.Background(), sandbox.Spec{
		Root: root, Args: args, Env: []string{interpreterVar + "=1"}, UID: 65532, GID: 65532, Stdout: os.Stdout,
	})
	if err == nil {
		_, err = p.Wait()
	}
	if err != nil {
		fmt.Println(err)
	}
}

// interpret prints which operations on the supervisor's program succeed.
func interpret() {
	const program = "/proc/self/exe"
	fmt.Println("chmod:", unix.Chmod(program, 0))
	_, err := unix.Open(program, unix.O_WRONLY, 0)
	fmt.Println("write:", err)
	fd, err := unix.Open(program, unix.O_RDONLY, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	seals, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	const want = unix.F_SEAL_WRITE | unix.F_SEAL_GROW | unix.F_SEAL_SHRINK | unix.F_SEAL_SEAL
	fmt.Println("sealed:", seals&want == want, err)
}
