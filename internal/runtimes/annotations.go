package runtimes

import (
	"fmt"
	"strings"
)

// A Setting is an annotation key of a Function, and a function that parses the
// annotation's value.
type Setting struct {
	Annotation string
	Parse      func(text string) error
}

// ParseInto returns a Setting.Parse that stores the result of parse in *to.
func ParseInto[T any](to *T, parse func(text string) (T, error)) func(text string) error {
	return func(text string) (err error) {
		*to, err = parse(text)
		return err
	}
}

// An AnnotationError says which annotation is invalid, and why.
type AnnotationError struct {
	Annotation string
	Err        error
}

func (e *AnnotationError) Error() string {
	return fmt.Sprintf("annotation %s: %v", e.Annotation, e.Err)
}

func (e *AnnotationError) Unwrap() error { return e.Err }

// ParseAnnotations parses the annotations that have a Setting. The error is an
// AnnotationError.
func ParseAnnotations(annotations map[string]string, settings []Setting) error {
	for _, s := range settings {
		if text, ok := annotations[s.Annotation]; ok {
			if err := s.Parse(text); err != nil {
				return &AnnotationError{s.Annotation, err}
			}
		}
	}
	return nil
}

// ParseEnv parses the value of an annotation with environment variables: KEY=value,
// separated by commas.
func ParseEnv(text string) ([]string, error) {
	pairs := strings.Split(text, ",")
	for _, pair := range pairs {
		if key, _, ok := strings.Cut(pair, "="); !ok || key == "" {
			return nil, fmt.Errorf("expected KEY=value, got %q", pair)
		}
	}
	return pairs, nil
}
