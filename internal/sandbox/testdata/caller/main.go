// Command caller starts sandboxes, as xfn does: it is a static program. The
// program of its supervisors can then be the interpreter of a script inside,
// which a test program with C libraries cannot.
//
// Its argument is a root with a script whose interpreter it is, and the program
// hostile. What comes of them is told on stdout.
package main

import (
	"context"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/xfn-dev/xfn/internal/sandbox"
)

// interpreterVar tells it that it is the interpreter.
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
	run(os.Args[1], "/hostile", "hello") // which has the same supervisor's program
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

// interpret tells what can be done to the supervisor's program.
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
