package report

// A Color is a color or style of a terminal. The zero value is none.
type Color string

// The colors and styles of texts.
const (
	Bold   Color = "\x1b[1m"
	Dim    Color = "\x1b[2m"
	Red    Color = "\x1b[31m"
	Green  Color = "\x1b[32m"
	Yellow Color = "\x1b[33m"
)

// ResetColor ends a color.
const ResetColor = "\x1b[0m"

// Paint returns text in the color.
func (c Color) Paint(text string) string {
	if c == "" {
		return text
	}
	return string(c) + text + ResetColor
}
