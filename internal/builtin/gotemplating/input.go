package gotemplating

import (
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xfn-dev/xfn/internal/builtin/sdk"
)

// GoTemplate is the input of function-go-templating. apiVersion and kind are ignored. Error texts
// contain the names of this type and of the types of its fields, so they are the same as in the real
// function.
type GoTemplate struct {
	sdk.Meta `json:",inline"`

	// Source is the source of the template: Inline, FileSystem or Environment. It is
	// required unless the function has a default source.
	Source source `json:"source"`
	// Inline has the template if the source is Inline.
	Inline *TemplateSourceInline `json:"inline,omitempty"`
	// FileSystem has the path of the template if the source is FileSystem.
	FileSystem *TemplateSourceFileSystem `json:"fileSystem,omitempty"`
	// Environment has the key of the template in the environment if the source is
	// Environment.
	Environment *TemplateSourceEnvironment `json:"environment,omitempty"`
	// Delims are the delimiters of actions. They are {{ and }} unless both are
	// set. A delimiter that is set to "" has its default, too.
	Delims *Delims `json:"delims,omitempty"`
	// Options are options of text/template, such as missingkey=error. Of
	// contradictory options, the last one applies.
	Options []string `json:"options,omitempty"`
}

type source string

const (
	inlineSource      source = "Inline"
	fileSystemSource  source = "FileSystem"
	environmentSource source = "Environment"
)

// Enum returns the sources of templates.
func (source) Enum() []string {
	return []string{string(inlineSource), string(fileSystemSource), string(environmentSource)}
}

// A TemplateSourceInline has the text of a template.
type TemplateSourceInline struct {
	// Template is the text of the template. If it is not empty, Templates is ignored.
	Template string `json:"template,omitempty"`
	// Templates are the parts of the template. They are joined with document separators.
	Templates []string `json:"templates,omitempty"`
}

// A TemplateSourceFileSystem has the path of a template.
type TemplateSourceFileSystem struct {
	// DirPath is the path of a file, or of a folder whose files are joined.
	DirPath string `json:"dirPath,omitempty"`
}

// A TemplateSourceEnvironment has the key of a template.
type TemplateSourceEnvironment struct {
	// Key is the key in the environment. Its value is the template.
	Key string `json:"key,omitempty"`
}

// Delims are the delimiters of actions.
type Delims struct {
	Left  *string `json:"left,omitempty"`
	Right *string `json:"right,omitempty"`
}

// Unreleased is the version of the main branch of the real function. It has what no release up to newest
// has: the field ttl of the input and the annotation ttlAnnotation of the composite resource, which
// are the time to live of a response, and the template function getComposedConnectionDetails.
const (
	Unreleased = "v0.13.0-0"
	newest     = "v0.12.2"
)

// decode decodes an input, and sets the time to live in rsp if the input has one. A field
// that the version does not have is an error.
func (r *runner) decode(input *structpb.Struct, rsp *fnv1.RunFunctionResponse) (*GoTemplate, error) {
	type release = GoTemplate
	if !r.unreleased {
		in := &release{}
		return in, sdk.Decode(input, in)
	}
	// Errors contain the name of the type.
	type GoTemplate struct {
		release `json:",inline"`
		// TTL is ignored if it is not a Go duration.
		TTL string `json:"ttl,omitempty"`
	}
	in := &GoTemplate{}
	if err := sdk.Decode(input, in); err != nil {
		return nil, err
	}
	if ttl, err := time.ParseDuration(in.TTL); err == nil {
		rsp.Meta.Ttl = durationpb.New(ttl)
	}
	return &in.release, nil
}

// annotated sets the time to live in rsp if the observed composite resource has the
// annotation ttlAnnotation. An invalid duration means 0.
func (r *runner) annotated(req *fnv1.RunFunctionRequest, rsp *fnv1.RunFunctionResponse) {
	if !r.unreleased {
		return
	}
	if ttl, ok := sdk.Annotations(req.GetObserved().GetComposite().GetResource())[ttlAnnotation]; ok {
		d, _ := time.ParseDuration(ttl)
		rsp.Meta.Ttl = durationpb.New(d)
	}
}
