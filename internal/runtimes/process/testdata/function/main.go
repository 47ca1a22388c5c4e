// Command function is a test function. Its first argument selects its behavior.
// As the interpreter of a script it gets the script's path before that.
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
		args = append(args[:1], args[2:]...) // "behavior /script flags…"
	}
	args = append(functiontest.ChildArgs(functiontest.Behavior(args[0]), ""), args[1:]...)
	exit, _ := functiontest.RunChild(context.Background(), args, os.Stderr)
	os.Exit(exit)
}
