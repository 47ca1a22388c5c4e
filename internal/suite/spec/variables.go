package spec

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/patch/fieldpath"
	"github.com/xfn-dev/xfn/internal/proc"
)

// variable matches ${each} and ${each.key}, which refer to the row of a table and to a
// field of it. $${each} is matched too, and stands for the text ${each}.
var variable = proc.Regexp(`\$?\$\{each(?:\.([^{}]*))?\}`)

// hasVariable reports whether variable matches a part of s. Most texts of thousands of cases have
// no variable.
func hasVariable(s string) bool {
	for {
		_, rest, found := strings.Cut(s, "${each")
		if !found {
			return false
		}
		end := strings.IndexAny(rest, "{}")
		if end >= 0 && rest[end] == '}' && (end == 0 || rest[0] == '.') {
			return true
		}
		s = rest
	}
}

// literal returns a copy of v in which texts that look like variables stand for themselves.
func literal(v any) any {
	switch v := v.(type) {
	case string:
		if hasVariable(v) {
			return variable().ReplaceAllStringFunc(v, func(m string) string { return "$" + m })
		}
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = literal(e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, e := range v {
			name, _ := literal(key).(string)
			out[name] = literal(e)
		}
		return out
	}
	return v
}

// replace returns v, the value at path, with variables replaced. The result shares the parts of v
// without variables, so callers must not change it.
func (c *Case) replace(v any, path []string) (any, error) {
	if !usesRow(v) {
		return v, nil
	}
	switch v := v.(type) {
	case string:
		return c.replaceText(v, path)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			r, err := c.replace(e, append(path, "["+strconv.Itoa(i)+"]"))
			if err != nil {
				return nil, err
			}
			out[i] = r
		}
		return out, nil
	case map[string]any:
		return c.replaceObject(v, path)
	}
	return v, nil
}

func (c *Case) replaceText(s string, path []string) (any, error) {
	v, err := c.substitute(s)
	if err != nil {
		return nil, c.errorAt(path, err)
	}
	return v, nil
}

func (c *Case) replaceObject(v map[string]any, path []string) (any, error) {
	out := make(map[string]any, len(v))
	for _, key := range manifest.Keys(v) {
		name, at := key, append(path, key)
		if hasVariable(key) {
			became, err := c.replaceText(key, at)
			if err != nil {
				return nil, err
			}
			name = text(became)
			at = append(path, name)
		}
		if name != key && c.renamed != nil {
			c.renamed[strings.Join(at, "\x00")] = key
		}
		var err error
		if out[name], err = c.replace(v[key], at); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// substitute returns s with its variables replaced. If s consists of a single
// variable, the result is the variable's value with its type.
func (c *Case) substitute(s string) (any, error) {
	if m := variable().FindString(s); m == s && !strings.HasPrefix(s, "$$") {
		return c.value(s)
	}
	var failed error
	out := variable().ReplaceAllStringFunc(s, func(m string) string {
		if strings.HasPrefix(m, "$$") {
			return m[1:]
		}
		v, err := c.value(m)
		if err != nil {
			failed = err
			return m
		}
		return text(v)
	})
	return out, failed
}

// value returns the value of a variable, such as ${each.key}.
func (c *Case) value(name string) (any, error) {
	if !c.hasRow {
		return nil, fmt.Errorf("%s is used in a case without a table (each)", name)
	}
	key := strings.TrimPrefix(name[len("${each"):len(name)-len("}")], ".")
	if key == "" {
		return c.row, nil
	}
	path, err := fieldpath.Parse(key)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	v, err := path.Get(c.row)
	if err == nil {
		return v, nil
	}
	row, ok := c.row.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s: the row of the table is not an object", name)
	}
	names := manifest.Keys(row)
	if near := hint.Nearest(key, names); near != "" {
		return nil, fmt.Errorf("%s: the row in each has no key %s%s", name, key, hint.DidYouMean(near))
	}
	return nil, fmt.Errorf("%s: the row in each has no key %s, only %s", name, key, strings.Join(names, ", "))
}

// text formats a variable's value as a part of a string.
func text(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}
