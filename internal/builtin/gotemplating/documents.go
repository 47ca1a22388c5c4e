package gotemplating

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/proc"
)

const (
	// maxDocument is the maximum size of a document in bytes. An API server stores at most
	// 1.5 MiB, and parsing YAML needs up to 300 times the size of the document.
	maxDocument = 2 << 20
	// guessSize is the number of bytes in which the decoder looks for the "{" of
	// a JSON document. If it finds none, it decodes YAML.
	guessSize = 1024
	readSize  = 4 << 10
)

var errDocumentSize = fmt.Errorf("a document is larger than %d MiB", maxDocument>>20)

// A document is an object in the output of a template.
type document struct {
	*unstructured.Unstructured
	// index is the number of the document, counted from 0, including those without an object.
	index int
}

// A documentError is an error about a document. It has the text of its cause.
type documentError struct {
	error
	// index is the index of the document.
	index int
	// line is the line in the document, counted from 1, or 0 for the whole document.
	line int
}

func (e documentError) Unwrap() error { return e.error }

// readDocuments returns the objects in the output of a template. Like the real function, it
// checks the annotations of a document before it reads the next document. An error about a
// document is a documentError.
func readDocuments(ctx context.Context, out string) ([]document, error) {
	var documents []document
	r := newReader(out)
	for index := 0; ; index++ {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		d, err := r.next()
		switch {
		case errors.Is(err, io.EOF):
			return documents, nil
		case err != nil:
			line := syntaxLine(err)
			return nil, documentError{fmt.Errorf("cannot decode manifest: %w", explainSyntax(err, line, out, len(documents))), index, line}
		case d == nil:
			continue
		}
		if err := checkAnnotations(d); err != nil {
			return nil, documentError{err, index, 0}
		}
		documents = append(documents, document{d, index})
	}
}

// A reader decodes documents as a YAMLOrJSONDecoder does, and limits their size.
type reader struct {
	text string
	left int // bytes that may still be read for the current document
	// json reads a text that begins as JSON does. It may go on as YAML. yaml reads any other text.
	json *kyaml.YAMLOrJSONDecoder
	yaml *kyaml.YAMLReader
}

func newReader(text string) *reader {
	r := &reader{text: text, left: maxDocument}
	if kyaml.IsJSONBuffer([]byte(text[:min(len(text), guessSize)])) {
		r.json = kyaml.NewYAMLOrJSONDecoder(r, guessSize)
	} else {
		r.yaml = kyaml.NewYAMLReader(bufio.NewReader(r))
	}
	return r
}

// next returns the next object. It returns nil for an empty document, and io.EOF
// at the end.
func (r *reader) next() (d *unstructured.Unstructured, err error) {
	r.left = maxDocument + readSize
	if r.json != nil {
		err = r.json.Decode(&d)
		return d, err
	}
	text, err := r.yaml.Read()
	if err != nil {
		return nil, err
	}
	// Unstructured decodes the JSON of the document several times.
	if object, err := (manifest.Document{Text: text}).Object(); err == nil {
		if d := (&unstructured.Unstructured{Object: object}); d.GroupVersionKind().Kind != "" {
			return d, nil
		}
	}
	err = yaml.Unmarshal(text, &d) // for the error, or because the document is empty
	return d, err
}

// Read implements io.Reader for the decoder. It returns few bytes at once, so
// that the decoder does not read far beyond the current document.
func (r *reader) Read(p []byte) (int, error) {
	switch {
	case r.text == "":
		return 0, io.EOF
	case r.left <= 0:
		return 0, errDocumentSize
	}
	n := copy(p[:min(len(p), r.left, readSize)], r.text)
	r.text, r.left = r.text[n:], r.left-n
	return n, nil
}

var syntaxError = proc.Regexp(`(?s)^error converting YAML to JSON: yaml: line (\d+): (.*)$`)

// syntaxLine returns the line in a document, counted from 1, of a YAML syntax error. It returns 0
// for other errors.
func syntaxLine(err error) int {
	if match := syntaxError().FindStringSubmatch(err.Error()); match != nil {
		line, _ := strconv.Atoi(match[1])
		return line
	}
	if strings.HasPrefix(err.Error(), "error converting YAML to JSON: yaml: ") {
		return 1 // The message about the first line has no number.
	}
	return 0
}

// explainSyntax adds a line number in out to a YAML syntax error in a line of its document. Like the real
// function, it adds the line in the document to the line of the separator after
// the document. If there is none, it uses the last separator.
func explainSyntax(err error, inDocument int, out string, documents int) error {
	match := syntaxError().FindStringSubmatch(err.Error())
	if match == nil {
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

// nextSeparator returns the number of the first separator line after the line
// number after, or after if there is none. Numbers start at 1.
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

// checkAnnotations returns an error if metadata.annotations is not a map of strings.
func checkAnnotations(d *unstructured.Unstructured) error {
	_, _, err := unstructured.NestedStringMap(d.Object, "metadata", "annotations")
	if err == nil {
		return nil
	}
	name, _, _ := unstructured.NestedFieldNoCopy(d.Object, "metadata", "annotations", nameAnnotation)
	return fmt.Errorf("invalid annotations in resource '%s resource-name=%v': %w", d.GroupVersionKind(), name, err)
}
