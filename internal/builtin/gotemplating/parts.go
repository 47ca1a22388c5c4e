package gotemplating

import (
	"cmp"
	"strings"

	"github.com/xfn-dev/xfn/internal/builtin/sdk"
)

// parts are the texts that the real function joins to a template, in order.
type parts []part

// A part is an inline template or a file.
type part struct {
	// at is the place of the text, without a line.
	at sdk.Location
	// text ends with the separator that joins it to the next part.
	text string
}

// text returns the parts joined to one template.
func (p parts) text() string {
	if len(p) == 1 {
		return p[0].text
	}
	var b strings.Builder
	for _, one := range p {
		b.WriteString(one.text)
	}
	return b.String()
}

// locate returns the place of a line of the template, counted from 1. A line of a separator has
// the place of the last line before it.
func (p parts) locate(line int) sdk.Location {
	for i, one := range p {
		if lines := strings.Count(one.text, "\n"); line > lines && i < len(p)-1 {
			line -= lines
			continue
		}
		own := strings.TrimSuffix(strings.TrimSuffix(one.text, separator), "\n")
		at := one.at
		at.Line = min(line, strings.Count(own, "\n")+1)
		return at
	}
	return sdk.Location{}
}

// locateOpen returns the place of the block that has no end, or of the line if no block is found.
// left is the left delimiter of actions, or "" for the default.
func (p parts) locateOpen(line int, left string) sdk.Location {
	var last openBlock
	if open := openBlocks(p.text(), cmp.Or(left, "{{")); len(open) > 0 {
		last = open[len(open)-1]
	}
	at := p.locate(cmp.Or(last.line, line))
	if last.keyword != "" {
		at.Detail = "where " + last.keyword + ", or a block in it, has no end"
	}
	return at
}
