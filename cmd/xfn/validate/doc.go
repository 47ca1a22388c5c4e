// Package validate is the command that judges resources by their definitions.
package validate
