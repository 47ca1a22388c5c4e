package resolve

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A WheelName is the parsed file name of a wheel (PEP 427).
type WheelName struct {
	// Name is normalized.
	Name    string
	Version Version
	// Build is the number of the build tag, or 0.
	Build int
	// Tags are the compatibility tags, as "cp313-cp313-manylinux_2_17_x86_64".
	Tags []string
}

// maxTags limits the combinations of the compressed tags in one file name.
const maxTags = 1000

// ParseWheelName parses a file name that ends in ".whl".
func ParseWheelName(file string) (w WheelName, err error) {
	stem, ok := strings.CutSuffix(file, ".whl")
	parts := strings.Split(stem, "-")
	if !ok || len(parts) < 5 || len(parts) > 6 || slices.Contains(parts, "") || strings.ContainsAny(file, "/\\ ") {
		return w, fmt.Errorf("%q is not the name of a wheel, as in name-1.0-py3-none-any.whl", file)
	}
	w.Name = Normalize(parts[0])
	if w.Version, err = ParseVersion(parts[1]); err != nil {
		return w, fmt.Errorf("parsing the name of wheel %q: %w", file, err)
	}
	if len(parts) == 6 {
		digits := len(parts[2]) - len(strings.TrimLeft(parts[2], "0123456789"))
		if w.Build, err = strconv.Atoi(parts[2][:digits]); err != nil {
			return w, fmt.Errorf("the build tag of wheel %q does not begin with a number", file)
		}
	}
	tags := parts[len(parts)-3:]
	if w.Tags, err = expandTags(strings.Join(tags, "-")); err != nil {
		return w, fmt.Errorf("parsing the name of wheel %q: %w", file, err)
	}
	return w, nil
}

// expandTags returns the tags of a compressed tag, such as "py2.py3-none-any" (PEP 425).
func expandTags(compressed string) ([]string, error) {
	parts := strings.Split(strings.ToLower(compressed), "-")
	if len(parts) != 3 {
		return nil, fmt.Errorf("%q is not a compatibility tag, such as py3-none-any", compressed)
	}
	pythons, abis, platforms := strings.Split(parts[0], "."), strings.Split(parts[1], "."), strings.Split(parts[2], ".")
	if len(pythons)*len(abis)*len(platforms) > maxTags {
		return nil, fmt.Errorf("the name has more than %d compatibility tags", maxTags)
	}
	var tags []string
	for _, python := range pythons {
		for _, abi := range abis {
			for _, platform := range platforms {
				tags = append(tags, python+"-"+abi+"-"+platform)
			}
		}
	}
	return tags, nil
}
