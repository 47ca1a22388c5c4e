package gotemplating

import "github.com/xfn-dev/xfn/internal/builtin/sdk"

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
