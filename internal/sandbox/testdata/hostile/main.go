// Command hostile is the function in tests. Its first argument selects an
// action. It prints the result in one line to stdout.
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
