package gotemplating

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// GoTemplate is the function's input: where the template comes from, and how it
// is read. Its apiVersion and kind are not looked at.
type GoTemplate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Source of the template: Inline, FileSystem or Environment. Required.
	Source source `json:"source"`
	// Inline is the template itself, for the source Inline.
	Inline *inline `json:"inline,omitempty"`
	// FileSystem tells where the template's files are, for the source FileSystem.
	FileSystem *fileSystem `json:"fileSystem,omitempty"`
	// Environment names the template, for the source Environment.
	Environment *environment `json:"environment,omitempty"`
	// Delims stand around actions. Without both of them they are {{ and }}.
	Delims *delims `json:"delims,omitempty"`
	// Options are those of text/template, such as missingkey=error. Later ones win.
	Options []string `json:"options,omitempty"`
	// TTL is how long the answer may be kept, such as 5m. It is 60s without it, and
	// if it is no duration.
	TTL string `json:"ttl,omitempty"`
}

type source string

const (
	inlineSource      source = "Inline"
	fileSystemSource  source = "FileSystem"
	environmentSource source = "Environment"
)

type inline struct {
	// Template wins over Templates, unless it is empty.
	Template string `json:"template,omitempty"`
	// Templates are read as one text, with separators of documents between them.
	Templates []string `json:"templates,omitempty"`
}

type fileSystem struct {
	// DirPath is a folder, of which all files are read as one text, or a file.
	DirPath string `json:"dirPath,omitempty"`
}

type environment struct {
	// Key of the environment whose value is the template.
	Key string `json:"key,omitempty"`
}

type delims struct {
	Left  *string `json:"left,omitempty"`
	Right *string `json:"right,omitempty"`
}
