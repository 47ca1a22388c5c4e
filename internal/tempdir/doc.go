// Package tempdir makes private directories that do not stay: one whose process
// was killed is removed by the next process that makes one beside it.
package tempdir
