package gotemplating

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// GoTemplate is the function's input. apiVersion and kind are ignored.
type GoTemplate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Source of the template: Inline, FileSystem or Environment. Required.
	Source source `json:"source"`
	// Inline is the template for the source Inline.
	Inline *inline `json:"inline,omitempty"`
	// FileSystem is the path of the template for the source FileSystem.
	FileSystem *fileSystem `json:"fileSystem,omitempty"`
	// Environment is the key of the template for the source Environment.
	Environment *environment `json:"environment,omitempty"`
	// Delims of actions. The default is {{ and }}, also if one is empty.
	Delims *delims `json:"delims,omitempty"`
	// Options of text/template, such as missingkey=error. The last one
	// wins.
	Options []string `json:"options,omitempty"`
	// TTL is a duration. The default is 60s, also for an invalid one.
	TTL string `json:"ttl,omitempty"`
}

type source string

const (
	inlineSource      source = "Inline"
	fileSystemSource  source = "FileSystem"
	environmentSource source = "Environment"
)

type inline struct {
	// Template takes precedence over Templates if it is not empty.
	Template string `json:"template,omitempty"`
	// Templates are joined with document separators.
	Templates []string `json:"templates,omitempty"`
}

type fileSystem struct {
	// DirPath is a file, or a folder whose files are joined.
	DirPath string `json:"dirPath,omitempty"`
}

type environment struct {
	// Key is the environment key whose value is the template.
	Key string `json:"key,omitempty"`
}

type delims struct {
	Left  *string `json:"left,omitempty"`
	Right *string `json:"right,omitempty"`
}
