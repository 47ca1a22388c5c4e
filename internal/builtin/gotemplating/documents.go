package gotemplating

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

const (
	// maxDocument bounds one document. An API server stores 1.5 MiB at most, and to
	// read YAML takes up to 300 times its length.
	maxDocument = 2 << 20
	// guessSize is how much white space there can be before the first brace of what
	// is taken for JSON.
	guessSize = 1024
)

var errDocumentSize = fmt.Errorf("a document is larger than %d MiB", maxDocument>>20)

// readDocuments returns the objects in what a template printed. The annotations of
// each are checked before the next is read.
func readDocuments(ctx context.Context, out string) ([]*unstructured.Unstructured, error) {
	var documents []*unstructured.Unstructured
	r := newReader(out)
	for {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		d, err := r.next()
		switch {
		case errors.Is(err, io.EOF):
			return documents, nil
		case err != nil:
			return nil, fmt.Errorf("cannot decode manifest: %w", explainSyntax(err, out, len(documents)))
		case d == nil:
			continue
		}
		if err := checkAnnotations(d); err != nil {
			return nil, err
		}
		documents = append(documents, d)
	}
}

// A reader reads objects out of text as the YAMLOrJSONDecoder of apimachinery
// does, which a test compares it with. That one reads documents of any size.
type reader struct {
	text string
	json *json.Decoder // until something is not JSON
	yaml kyaml.Reader  // since then
	// objects counts those that were read as JSON, and consumed is where they end.
	objects  int
	consumed int64
}

func newReader(text string) *reader {
	r := &reader{text: text}
	if kyaml.IsJSONBuffer([]byte(text[:min(len(text), guessSize)])) {
		r.json = json.NewDecoder(strings.NewReader(text))
	} else {
		r.yaml = newYAMLReader(text)
	}
	return r
}

func newYAMLReader(text string) kyaml.Reader {
	return kyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
}

// next returns the next object, nil for a document without one, or io.EOF.
func (r *reader) next() (*unstructured.Unstructured, error) {
	var notJSON error
	if r.json != nil {
		d, err := r.nextJSON()
		if err == nil || errors.Is(err, io.EOF) || r.objects > 1 {
			return d, err
		}
		notJSON = err
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			notJSON = kyaml.JSONSyntaxError{Offset: syntax.Offset, Err: syntax}
		}
		r.json = nil
		if rest, ok := skipSpace(r.text[r.consumed:]); ok {
			r.yaml = newYAMLReader(rest)
		}
	}
	if r.yaml == nil {
		return nil, notJSON
	}
	d, err := r.nextYAML()
	if err != nil && !errors.Is(err, io.EOF) && notJSON != nil {
		return nil, notJSON
	}
	return d, err
}

func (r *reader) nextJSON() (*unstructured.Unstructured, error) {
	var raw json.RawMessage
	if err := r.json.Decode(&raw); err != nil {
		return nil, err
	}
	if len(raw) > maxDocument {
		return nil, errDocumentSize
	}
	var d *unstructured.Unstructured
	if err := json.Unmarshal(raw, &d); err != nil {
		return nil, err
	}
	r.objects++
	r.consumed = r.json.InputOffset()
	return d, nil
}

func (r *reader) nextYAML() (*unstructured.Unstructured, error) {
	raw, err := r.yaml.Read()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(raw) == 0 {
		return nil, err
	}
	if len(raw) > maxDocument {
		return nil, errDocumentSize
	}
	var d *unstructured.Unstructured
	if err := yaml.Unmarshal(raw, &d); err != nil {
		return nil, err
	}
	return d, err
}

// skipSpace returns text without white space before the end of its first line. It
// reports whether anything follows.
func skipSpace(text string) (string, bool) {
	for i, r := range text {
		switch {
		case r == utf8.RuneError:
			return "", false
		case !unicode.IsSpace(r):
			return text[i:], true
		case r == '\n':
			return text[i+1:], true
		}
	}
	return "", false
}

var syntaxError = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)^error converting YAML to JSON: yaml: line (\d+): (.*)$`)
})

// explainSyntax adds to a syntax error of YAML the line of the output, and what
// is there, as the real function finds it: it counts from the line that begins
// the document, and takes the next one for that, but in the last document.
func explainSyntax(err error, out string, documents int) error {
	match := syntaxError().FindStringSubmatch(err.Error())
	if match == nil {
		return err
	}
	inDocument, numberErr := strconv.Atoi(match[1])
	if numberErr != nil {
		return err
	}
	lines := strings.Split(out, "\n")
	start := 1
	for range documents + 1 {
		start = nextSeparator(lines, start)
	}
	line := start + inDocument
	if line > len(lines) {
		return err
	}
	return fmt.Errorf("error converting YAML to JSON: yaml: line %d (document %d, line %d) near: '%s': %s",
		line, documents+1, inDocument, excerpt(lines[line-1]), match[2])
}

// nextSeparator returns the first line after another that is a separator, from 1,
// or the other if there is none.
func nextSeparator(lines []string, after int) int {
	for i := after; i < len(lines); i++ {
		if strings.TrimSpace(lines[i]) == "---" {
			return i + 1
		}
	}
	return after
}

func excerpt(line string) string {
	const most = 80
	line = strings.TrimSpace(line)
	if len(line) > most {
		return line[:most] + "..."
	}
	return line
}

// checkAnnotations returns an error for annotations that are no map of strings.
func checkAnnotations(d *unstructured.Unstructured) error {
	_, _, err := unstructured.NestedStringMap(d.Object, "metadata", "annotations")
	if err == nil {
		return nil
	}
	name, _, _ := unstructured.NestedFieldNoCopy(d.Object, "metadata", "annotations", nameAnnotation)
	return fmt.Errorf("invalid annotations in resource '%s resource-name=%v': %w", d.GroupVersionKind(), name, err)
}
