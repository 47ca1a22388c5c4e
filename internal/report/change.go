package report

import "github.com/xfn-dev/xfn/internal/fieldpath"

// An Op is the kind of a change.
type Op = fieldpath.Op

// The kinds of changes.
const (
	Added   = fieldpath.Added
	Removed = fieldpath.Removed
	Changed = fieldpath.Changed
)

// A Change is a difference in one field.
type Change = fieldpath.Change
