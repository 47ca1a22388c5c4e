package terminal

import (
	"encoding/json"
	"fmt"
	"io"

	"sigs.k8s.io/yaml"
)

// Format is the flag for the format of the output.
type Format struct {
	Format string `enum:"text,json,yaml" default:"text" help:"Print ${enum}."`
}

// Print writes a value to w as JSON or YAML, or calls text.
func (f Format) Print(w io.Writer, value any, text func(io.Writer) error) (err error) {
	switch f.Format {
	case "json":
		err = WriteJSON(w, value)
	case "yaml":
		var raw []byte
		if raw, err = yaml.Marshal(value); err == nil {
			_, err = w.Write(raw)
		}
	default:
		err = text(w)
	}
	if err != nil {
		return fmt.Errorf("printing the result: %w", err)
	}
	return nil
}

// WriteJSON writes a value as indented JSON.
func WriteJSON(w io.Writer, value any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(value)
}

// Size formats a number of bytes: "1.5 MiB".
func Size(n int64) string {
	if n < 1<<10 {
		return fmt.Sprintf("%d B", n)
	}
	value, units := float64(n)/(1<<10), []string{"KiB", "MiB", "GiB", "TiB"}
	unit := 0
	for value >= 1<<10 && unit < len(units)-1 {
		value /= 1 << 10
		unit++
	}
	return fmt.Sprintf("%.1f %s", value, units[unit])
}

// Count is a number of things: "1 image", "2 images".
func Count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// ShortDigest returns the first 12 digits of a digest, with its algorithm.
func ShortDigest(digest string) string { return digest[:min(len(digest), len("sha256:")+12)] }
