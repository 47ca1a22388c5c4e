// Command compiled stands for a function in Go.
package main

func main() {}
