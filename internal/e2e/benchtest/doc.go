// Package benchtest compares a job of xfn with the limit of the machine: the least work that
// the job needs. It measures both in turns, has the table of all jobs with their aims, and
// reads and prints what was measured. BenchmarkTable runs the benchmarks of the table, for
// `make bench`.
package benchtest
