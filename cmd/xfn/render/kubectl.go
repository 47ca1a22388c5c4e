package render

import (
	"context"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/session"
)

func printKubectl(ctx context.Context, term *terminal.Terminal, s *session.Session, in session.Inputs) error {
	missing, err := s.Missing(ctx, in)
	if err != nil {
		return err
	}
	commands, err := kubectl(missing)
	if err != nil {
		return err
	}
	if len(commands) == 0 {
		term.Note("the dump has all resources that the composite resources name, and their Compositions")
		return nil
	}
	_, err = io.WriteString(term.Stdout, strings.Join(commands, "\necho ---\n")+"\n")
	return err
}

// objectArgument and namespaceName match arguments of kubectl that a shell does not change.
// The names are from a dump, which is untrusted.
var (
	objectArgument = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*(\.[a-z0-9.-]+)?/[A-Za-z0-9][A-Za-z0-9.:_-]*$`)
	})
	namespaceName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([a-z0-9][a-z0-9-]*)?$`) })
)

// kubectl returns commands that print the resources that a dump lacks, as YAML.
func kubectl(missing session.Missing) (commands []string, err error) {
	const (
		format       = " -o yaml --show-managed-fields --ignore-not-found"
		most         = 100 // resources in one command
		compositions = "compositions.apiextensions.crossplane.io,compositeresourcedefinitions.apiextensions.crossplane.io"
	)
	arguments := map[string][]string{}
	for _, ref := range missing.Resources {
		argument := kubectlKind(ref) + "/" + ref.Name
		if !objectArgument().MatchString(argument) || !namespaceName().MatchString(ref.Namespace) {
			return nil, fmt.Errorf("resourceRefs name the resource %q in namespace %q, which are not valid names", argument, ref.Namespace)
		}
		arguments[ref.Namespace] = append(arguments[ref.Namespace], argument)
	}
	for _, namespace := range slices.Sorted(maps.Keys(arguments)) {
		all := arguments[namespace]
		slices.Sort(all)
		command := "kubectl get"
		if namespace != "" {
			command += " -n " + namespace
		}
		for part := range slices.Chunk(slices.Compact(all), most) {
			commands = append(commands, command+format+" "+strings.Join(part, " "))
		}
	}
	if missing.Compositions {
		commands = append(commands, "kubectl get -o yaml "+compositions)
	}
	return commands, nil
}

// kubectlKind returns the kind of an object as kubectl reads it: KIND.VERSION.GROUP, or KIND
// for the core group.
func kubectlKind(ref session.Reference) string {
	gvk := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	if gvk.Group == "" {
		return gvk.Kind
	}
	return gvk.Kind + "." + gvk.Version + "." + gvk.Group
}
