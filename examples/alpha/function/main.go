// Command quote is a composition function of Crossplane v1.11: it annotates every
// desired resource with a quote.
package main

import (
	"fmt"
	"hash/fnv"
	"io"
	"os"

	"go.yaml.in/yaml/v3"
)

const (
	annotationAuthor = "quotable.io/author"
	annotationQuote  = "quotable.io/quote"
)

// quotes are in the public domain.
var quotes = []struct{ author, text string }{
	{"Seneca", "It is quality rather than quantity that matters."},
	{"Ovid", "Everything changes, nothing perishes."},
	{"Heraclitus", "No one ever steps in the same river twice."},
	{"Virgil", "Fortune favours the bold."},
}

// object is a JSON or YAML object.
type object = map[string]any

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run copies the FunctionIO from in to out, and adds a quote to each desired
// resource without one.
func run(in io.Reader, out io.Writer) error {
	var functionIO object
	if err := yaml.NewDecoder(in).Decode(&functionIO); err != nil {
		return fmt.Errorf("parsing the FunctionIO: %w", err)
	}
	desired, _ := functionIO["desired"].(object)
	resources, _ := desired["resources"].([]any)
	for _, r := range resources {
		desired, _ := r.(object)
		resource, ok := desired["resource"].(object)
		if !ok {
			warn(functionIO, fmt.Sprintf("Desired resource %v has no body", desired["name"]))
			continue
		}
		annotate(resource, fmt.Sprint(desired["name"]))
	}
	if err := yaml.NewEncoder(out).Encode(functionIO); err != nil {
		return fmt.Errorf("writing the FunctionIO: %w", err)
	}
	return nil
}

// annotate chooses the quote by the resource's name, so that it stays the same
// in all calls of the function.
func annotate(resource object, name string) {
	annotations := child(child(resource, "metadata"), "annotations")
	if annotations[annotationQuote] != nil {
		return
	}
	sum := fnv.New32a()
	sum.Write([]byte(name))
	quote := quotes[sum.Sum32()%uint32(len(quotes))]
	annotations[annotationAuthor], annotations[annotationQuote] = quote.author, quote.text
}

// child returns the object at a field of parent. It creates the object if it is missing.
func child(parent object, field string) object {
	c, ok := parent[field].(object)
	if !ok {
		c = object{}
		parent[field] = c
	}
	return c
}

// warn appends a warning to the results that earlier functions have returned.
func warn(functionIO object, message string) {
	results, _ := functionIO["results"].([]any)
	functionIO["results"] = append(results, object{"severity": "Warning", "message": message})
}
