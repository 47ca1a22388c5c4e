// Command bench runs the benchmarks of package benchtest's table, in the root of the
// repository, and prints the table. It writes bench.txt, which benchstat can read, and
// bench.json. With -base, it compares xfn with that of another commit instead.
package main
