// Command function is a test function. Its first argument selects its behavior. If the
// program is the interpreter of a script, the path of the script follows.
package main

import (
	"context"
	"os"
	"strings"

	"github.com/xfn-dev/xfn/internal/e2e/functiontest"
)

func main() {
	args := os.Args[1:]
	if len(args) > 1 && strings.HasPrefix(args[1], "/") {
		args = append(args[:1], args[2:]...) // omit the path of the script
	}
	args = append(functiontest.ChildArgs(functiontest.Behavior(args[0]), ""), args[1:]...)
	exit, _ := functiontest.RunChild(context.Background(), args, os.Stderr)
	os.Exit(exit)
}
