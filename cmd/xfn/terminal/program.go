package terminal

// A Program is this one.
type Program struct {
	// Name is what it was called as: xfn, or crossplane by a link.
	Name string
	// Version is that of the build, as "v0.1.0".
	Version string
}

// UserAgent names the program to servers.
func (p Program) UserAgent() string { return "xfn/" + p.Version }
