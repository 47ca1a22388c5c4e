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
	// maxDocument limits the size of a document. An API server stores at
	// most 1.5 MiB, and parsing YAML needs up to 300 times the size.
	maxDocument = 2 << 20
	// guessSize is the maximum white space before the first brace of a JSON
	// document.
	guessSize = 1024
)

var errDocumentSize = fmt.Errorf("a document is larger than %d MiB", maxDocument>>20)

// readDocuments returns the objects in the output of a template. It checks the
// annotations of each object before it reads the next one.
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

// A reader reads objects as apimachinery's YAMLOrJSONDecoder does, which a test
// compares it with. That decoder does not limit the size of a document.
type reader struct {
	text string
	json *json.Decoder // for JSON, until a document is not JSON
	yaml kyaml.Reader  // after that
	// objects is the number of JSON objects; consumed is the offset after
	// the last one.
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

// next returns the next object, nil for a document without an object, or
// io.EOF.
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

// skipSpace returns text without white space before the end of its first line.
// It reports whether any text is left.
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

// explainSyntax adds the line number and text of the output to a YAML syntax
// error, as the real function computes them: it counts from the separator after
// the document, or from the last separator in the last document.
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

// nextSeparator returns the number of the first separator line after a line,
// counted from 1. If there is none, it returns after.
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

// checkAnnotations returns an error if annotations are not a map of strings.
func checkAnnotations(d *unstructured.Unstructured) error {
	_, _, err := unstructured.NestedStringMap(d.Object, "metadata", "annotations")
	if err == nil {
		return nil
	}
	name, _, _ := unstructured.NestedFieldNoCopy(d.Object, "metadata", "annotations", nameAnnotation)
	return fmt.Errorf("invalid annotations in resource '%s resource-name=%v': %w", d.GroupVersionKind(), name, err)
}
