// Command empty does nothing. The time it takes as a process is what the
// kernel and Go's runtime cost before a plugin has begun.
package main

func main() {}
