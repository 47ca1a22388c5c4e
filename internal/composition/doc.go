// Package composition reads Compositions and says whether one can compose for
// a given composite resource.
package composition
