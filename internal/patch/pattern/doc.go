// Package pattern is regular expressions from strangers. Package regexp takes
// time that grows with the text times the expression, and makes a copy of what
// is repeated for each time: (a{1000}){1000} would be a million instructions.
package pattern
