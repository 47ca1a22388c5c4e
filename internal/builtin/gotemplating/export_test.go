package gotemplating

import (
	"context"
	"io"
	"os"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Render returns the output of a template in the main branch's version of the function.
func Render(ctx context.Context, text string, data map[string]any, options ...string) (string, error) {
	p, err := compile(newProgramKey(text, &GoTemplate{}, true), options)
	if err != nil {
		return "", err
	}
	out, _, err := p.execute(ctx, data)
	return out, err
}

// Objects returns the objects in a template's output, and nil for each document
// without an object. The error is the one at which reading stopped.
func Objects(out string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for r := newReader(out); ; {
		d, err := r.next()
		if err == io.EOF {
			return objects, nil
		}
		if err != nil {
			return objects, err
		}
		objects = append(objects, d)
	}
}

// ReadAs reads the file or folder called name in root. isFolder says whether it
// was listed as a folder.
func ReadAs(ctx context.Context, root *os.Root, name string, isFolder bool) error {
	t := &tree{root: root, inside: ".", dirPath: "."}
	return t.read(ctx, name, isFolder)
}

// TemplateData returns the data of the template for a request.
func TemplateData(req *fnv1.RunFunctionRequest) (map[string]any, error) { return templateData(req) }
