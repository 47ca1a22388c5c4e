package flags

import (
	"errors"

	"github.com/alecthomas/kong"
)

// OptionalPath is a flag with an optional path as its value.
type OptionalPath struct {
	// On is true if the flag is given. Path is its value, or "".
	On   bool
	Path string
}

// Decode accepts --flag and --flag=PATH.
func (p *OptionalPath) Decode(ctx *kong.DecodeContext) error {
	p.On = true
	if next := ctx.Scan.Peek(); next.Type == kong.FlagValueToken {
		p.Path = ctx.Scan.Pop().String()
		if p.Path == "" {
			return errors.New("expected a path after =")
		}
	}
	return nil
}

// IsBool returns true, so that kong accepts the flag without a value.
func (*OptionalPath) IsBool() bool { return true }
