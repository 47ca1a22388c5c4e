package terminal

import "github.com/xfn-dev/xfn/internal/progress"

// A Program is this one.
type Program struct {
	// Name is what it was called as: xfn, or crossplane by a link.
	Name string
	// Version is that of the build, as "v0.1.0".
	Version string
	// Detail shows events that only --verbose is for. It may be nil.
	Detail progress.Func
}

// UserAgent names the program to servers.
func (p Program) UserAgent() string { return "xfn/" + p.Version }
