// Package extraresources is the builtin function-extra-resources. It requires resources, and puts
// them into the context, which later functions read.
package extraresources
