// Package tagmanager is the builtin function-tag-manager. It adds, keeps and removes the tags
// of AWS and Azure resources.
package tagmanager
