// Command program is the program in the images of tests. Its first argument selects an
// action.
package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

var acts = map[string]func(args []string){
	"echo":     echo,
	"describe": describe,
	"say":      func(args []string) { fmt.Print(strings.Join(args, " ")) },
	"deaf":     func([]string) { os.Stdin.Close(); fmt.Print("did not listen") },
	"fail":     fail,
	"talk":     talk,
	"flood":    func([]string) { forever(os.Stdout) },
	"write":    write,
	"eat":      eat,
	"family":   family,
	"wait":     func([]string) { time.Sleep(time.Hour) },
}

func main() {
	acts[os.Args[1]](os.Args[2:])
}

// echo writes its input to stdout.
func echo([]string) {
	fmt.Print("heard: ")
	if _, err := io.Copy(os.Stdout, os.Stdin); err != nil {
		fmt.Println(err)
	}
}

// describe prints the arguments, environment, ids and other properties of its process.
func describe(args []string) {
	dir, _ := os.Getwd()
	links, _ := net.Interfaces()
	fmt.Println("args:", strings.Join(args, " "))
	fmt.Println("env:", strings.Join(os.Environ(), " "))
	fmt.Println("dir:", dir)
	fmt.Println("ids:", os.Getuid(), os.Getgid())
	fmt.Println("links:", len(links))
	fmt.Println("root:", os.WriteFile("/written", nil, 0o600))
	fmt.Println("tmp:", os.WriteFile("/tmp/written", nil, 0o600))
	info, err := os.Stat("/usr/bin/program")
	fmt.Println("program:", info.Mode(), err)
}

// fail writes to stderr, and exits with the code in its argument.
func fail(args []string) {
	for n := range 30 {
		fmt.Fprintln(os.Stderr, "complaint", n)
	}
	fmt.Print("half an answer")
	code, _ := strconv.Atoi(args[0])
	os.Exit(code)
}

// talk writes more to stderr than a pipe can hold, and then writes its input to stdout.
func talk([]string) {
	fmt.Fprint(os.Stderr, strings.Repeat("talk talk talk\n", 100_000))
	echo(nil)
}

// write writes as many bytes to stdout as its argument says.
func write(args []string) {
	n, _ := strconv.Atoi(args[0])
	_, _ = os.Stdout.Write(make([]byte, n))
}

// eat writes to as many MiB of memory as its argument says.
func eat(args []string) {
	n, _ := strconv.Atoi(args[0])
	full := bytes.Repeat([]byte{1}, n<<20)
	fmt.Print(len(full))
}

// family starts a child process in another session that keeps stdout open. With a second
// argument family then ends, and otherwise it waits forever.
func family(args []string) {
	child := exec.Command("/usr/bin/program", "wait", args[0])
	child.Stdout, child.Stderr, child.SysProcAttr = os.Stdout, os.Stderr, &syscall.SysProcAttr{Setsid: true}
	fmt.Fprintln(os.Stderr, "child:", child.Start())
	if len(args) > 1 {
		fmt.Print("done")
		return
	}
	time.Sleep(time.Hour)
}

func forever(w io.Writer) {
	for {
		if _, err := w.Write(make([]byte, 1<<20)); err != nil {
			return
		}
	}
}
