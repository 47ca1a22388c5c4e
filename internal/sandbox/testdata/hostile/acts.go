package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

var acts map[string]func(args []string) string

func init() {
	acts = map[string]func(args []string) string{
		"hello":    func([]string) string { return "hello" },
		"env":      func([]string) string { return strings.Join(os.Environ(), ",") },
		"exit":     func(args []string) string { os.Exit(number(args[0])); return "" },
		"die":      die,
		"hostname": func([]string) string { name, err := os.Hostname(); return either(name, err) },
		"cwd":      func([]string) string { dir, err := os.Getwd(); return either(dir, err) },
		"ids": func([]string) string {
			groups, err := os.Getgroups()
			return either(fmt.Sprintf("%d:%d %d %v", os.Getuid(), os.Getgid(), os.Getpid(), groups), err)
		},
		"cat":    cat,
		"list":   list,
		"open":   open,
		"write":  write,
		"status": status,
		"fds":    descriptors,
		"pids":   pids,
		"dial":   dial,
		"route":  dialIfRouteless,
		"signal": func(args []string) string {
			return outcome(unix.Kill(number(args[0]), syscall.Signal(number(args[1]))))
		},
		"syscall":   rawSyscall,
		"int80":     func([]string) string { return outcome(int80()) },
		"setuid":    runSetuid,
		"fork-bomb": forkBomb,
		"memory":    eatMemory,
		"disk":      eatDisk,
		"inodes":    eatInodes,
		"stderr":    floodStderr,
		"orphan":    orphan,
		"block":     block,
		"serve":     serve,
		"reopen": func([]string) string {
			f, err := os.OpenFile("/dev/stderr", os.O_WRONLY, 0)
			if err == nil {
				_, err = f.WriteString("by name\n")
			}
			return outcome(err)
		},
		"powers":     powers,
		"open-fds":   openFDs,
		"family":     family,
		"chmod":      func(args []string) string { return outcome(os.Chmod(args[0], 0o777)) },
		"touch":      func(args []string) string { return outcome(os.Chtimes(args[0], time.Time{}, time.Unix(0, 0))) },
		"listen":     listen,
		"mptcp":      dialMultipath,
		"rlimits":    rlimits,
		"mounts":     mounts,
		"namespaces": namespaces,
		"session":    session,
		"securebits": securebits,
		"watch":      watch,
		"mute":       mute,
	}
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}

// outcome returns "done", the name of the error's errno, or the text of an error without
// errno.
func outcome(err error) string {
	var errno syscall.Errno
	switch {
	case err == nil:
		return "done"
	case errors.As(err, &errno):
		return unix.ErrnoName(errno)
	default:
		return err.Error()
	}
}

func either(s string, err error) string {
	if err != nil {
		return outcome(err)
	}
	return s
}

func cat(args []string) string {
	data, err := os.ReadFile(args[0])
	return either(string(data), err)
}

func list(args []string) string {
	entries, err := os.ReadDir(args[0])
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return either(strings.Join(names, " "), err)
}

// open opens a file for reading ("r"), writing ("w") or both ("rw"), or returns
// the target of a link ("link").
func open(args []string) string {
	if args[1] == "link" {
		to, err := os.Readlink(args[0])
		return either("leads to "+to, err)
	}
	flag := map[string]int{"r": os.O_RDONLY, "w": os.O_WRONLY, "rw": os.O_RDWR}[args[1]]
	_, err := os.OpenFile(args[0], flag, 0)
	return outcome(err)
}

func write(args []string) string {
	return outcome(os.WriteFile(os.ExpandEnv(args[0]), []byte("0\n"), 0o666))
}

// status returns the lines of /proc/self/status whose names are in args.
func status(args []string) string {
	data, err := os.ReadFile("/proc/self/status")
	var lines []string
	for line := range strings.Lines(string(data)) {
		name, value, _ := strings.Cut(line, ":")
		for _, want := range args {
			if name == want {
				lines = append(lines, name+"="+strings.TrimSpace(value))
			}
		}
	}
	return either(strings.Join(lines, " "), err)
}

func pids([]string) string {
	found, err := filepath.Glob("/proc/[0-9]*")
	sort.Strings(found)
	return either(strings.Join(found, " "), err)
}

func dial(args []string) string {
	conn, err := net.DialTimeout(args[0], args[1], 10*time.Second)
	if err == nil {
		conn.Close()
	}
	return outcome(err)
}

// dialIfRouteless dials only if no packet can leave the network: it has only the loopback
// interface and no route.
func dialIfRouteless(args []string) string {
	links, err := net.Interfaces()
	if err != nil || len(links) != 1 || links[0].Flags&net.FlagLoopback == 0 {
		return fmt.Sprintf("there are the interfaces %v (%v): not trying", links, err)
	}
	routes, err := os.ReadFile("/proc/net/route")
	if err != nil || strings.Count(string(routes), "\n") != 1 {
		return fmt.Sprintf("there are the routes %q (%v): not trying", routes, err)
	}
	return dial(args)
}

// rawSyscall makes the system calls that args name, with harmless arguments. With several
// calls, each result follows the name of the call.
func rawSyscall(args []string) string {
	if len(args) == 1 {
		return oneSyscall(args[0])
	}
	var all []string
	for _, name := range args {
		all = append(all, name+"="+oneSyscall(name))
	}
	return strings.Join(all, " ")
}

func oneSyscall(name string) string {
	call, ok := calls[name]
	if !ok {
		return "no such call"
	}
	_, _, errno := unix.RawSyscall6(call[0], call[1], call[2], call[3], call[4], call[5], 0)
	if errno == 0 {
		return "done"
	}
	return outcome(errno)
}

// runSetuid runs a program file, a copy of this program with a setuid bit, and returns
// its ids and capabilities.
func runSetuid(args []string) string {
	out, err := exec.Command(args[0], "status", "Uid", "CapEff", "CapPrm").Output()
	return either(strings.TrimSpace(string(out)), err)
}

// forkBomb starts processes until a start fails. It returns the number of processes, and
// the error.
func forkBomb([]string) string {
	for n := 0; ; n++ {
		_, err := syscall.ForkExec(os.Args[0], []string{"hostile", "block"}, &syscall.ProcAttr{Env: []string{"GOMAXPROCS=1"}, Files: []uintptr{0}})
		if err != nil || n == 10000 {
			return fmt.Sprintf("%d %s", n, outcome(err))
		}
	}
}

func eatDisk(args []string) string {
	f, err := os.Create(args[0])
	block := make([]byte, 1<<20)
	written := 0
	for err == nil && written < 1<<30 {
		var n int
		n, err = f.Write(block)
		written += n
	}
	return fmt.Sprintf("%d %s", written>>20, outcome(err))
}

func eatInodes(args []string) string {
	for n := 0; ; n++ {
		if err := os.Mkdir(fmt.Sprintf("%s/%d", args[0], n), 0o700); err != nil || n == 1<<20 {
			return fmt.Sprintf("%d %s", n, outcome(err))
		}
	}
}

func floodStderr([]string) string {
	line := []byte(strings.Repeat("x", 1<<16))
	for {
		if _, err := os.Stderr.Write(line); err != nil {
			return outcome(err)
		}
	}
}

// orphan starts a process in another session that keeps stdout open.
func orphan([]string) string {
	_, err := syscall.ForkExec("/proc/self/exe", []string{"hostile", "block"}, &syscall.ProcAttr{
		Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return outcome(err)
	}
	return block(nil)
}

// mute closes stdin, stdout and stderr, and keeps running.
func mute([]string) string {
	for fd := range 3 {
		if err := unix.Close(fd); err != nil {
			return outcome(err)
		}
	}
	return block(nil)
}

// die kills its own process with a signal.
func die(args []string) string {
	if err := unix.Kill(os.Getpid(), syscall.Signal(number(args[0]))); err != nil {
		return outcome(err)
	}
	select {} // until the signal arrives
}

// block prints a line, ignores the signals that can be ignored, and never ends.
func block([]string) string {
	signal.Ignore(unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT)
	fmt.Println("ready")
	for {
		time.Sleep(time.Hour)
	}
}

// serve answers each connection with the byte "!", and echoes its input.
func serve(args []string) string {
	l, err := net.Listen("tcp", args[0])
	if err != nil {
		return outcome(err)
	}
	for {
		conn, err := l.Accept()
		if err != nil {
			return outcome(err)
		}
		go func() {
			defer conn.Close()
			conn.Write([]byte("!"))
			io.Copy(conn, conn)
		}()
	}
}

// powers returns the privileges of the process, without using /proc.
func powers([]string) string {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return outcome(err)
	}
	privileges, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	if err != nil {
		return outcome(err)
	}
	filter, err := unix.PrctlRetInt(unix.PR_GET_SECCOMP, 0, 0, 0, 0)
	return either(fmt.Sprintf("capabilities=%v no_new_privs=%d seccomp=%d", data, privileges, filter), err)
}

// openFDs lists the descriptors that the process was started with, without
// using /proc.
func openFDs([]string) string {
	var open []string
	for fd := range 1024 {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if err == nil && flags&unix.FD_CLOEXEC == 0 { // descriptors of the Go runtime have the flag
			open = append(open, strconv.Itoa(fd))
		}
	}
	return strings.Join(open, " ")
}

// family starts another process that blocks, in its own process group.
func family([]string) string {
	program, err := os.Executable()
	if err != nil { // there is no /proc
		program = os.Args[0]
	}
	if _, err := syscall.ForkExec(program, []string{"hostile", "block"}, &syscall.ProcAttr{Files: []uintptr{0, 1, 2}}); err != nil {
		return outcome(err)
	}
	return block(nil)
}

func listen(args []string) string {
	var config net.ListenConfig
	config.SetMultipathTCP(len(args) > 1)
	l, err := config.Listen(context.Background(), "tcp", args[0])
	if err == nil {
		err = l.Close()
	}
	return outcome(err)
}

// dialMultipath dials over Multipath TCP, which has other security hooks in the kernel
// than TCP.
func dialMultipath(args []string) string {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP)
	if err != nil {
		return outcome(err)
	}
	return outcome(unix.Connect(fd, &unix.SockaddrInet4{Port: number(args[0]), Addr: [4]byte{127, 0, 0, 1}}))
}
