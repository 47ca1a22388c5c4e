// Package feature has the feature switches of Crossplane, and the versions that have them.
//
// The table is that of the flags --enable-NAME of Crossplane v1.11 to v2.4.
package feature
