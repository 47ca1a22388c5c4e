package manifest

import (
	"encoding/json"
	"fmt"
	"io"
)

// Write writes each object as a "---" line and YAML with keys in the natural
// order of sigs.k8s.io/yaml ("a2" before "a10"). It writes the documents before
// one that cannot be encoded.
func Write(w io.Writer, objects ...map[string]any) error {
	for i, obj := range objects {
		if _, err := io.WriteString(w, "---\n"); err != nil {
			return fmt.Errorf("writing document %d: %w", i+1, err)
		}
		text, err := json.Marshal(obj)
		if err == nil {
			text, err = JSONToYAML(text)
		}
		if err != nil {
			return fmt.Errorf("encoding document %d: %w", i+1, err)
		}
		if _, err := w.Write(text); err != nil {
			return fmt.Errorf("writing document %d: %w", i+1, err)
		}
	}
	return nil
}
