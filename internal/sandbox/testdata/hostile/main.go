// Command hostile is the function that tests run in a sandbox. Its first argument selects
// an action. It prints the result of the action to stdout.
package main

import (
	"fmt"
	"os"
)

func main() {
	if len(os.Args) < 2 {
		os.Exit(2)
	}
	act, ok := acts[os.Args[1]]
	if !ok {
		fmt.Println("no such act")
		os.Exit(2)
	}
	fmt.Println(act(os.Args[2:]))
}
