// Package generate writes the parts of a project: its directories, its project file, the
// source of embedded functions, steps of pipelines, dependencies, and the models of the kinds
// that it uses. Files of the user keep their comments.
package generate
