// Package remove removes directories whose content is a stranger's.
package remove
