// Package mutate makes mutants of Compositions: copies with one small mistake. A suite that
// passes for a mutant does not notice the mistake.
package mutate
