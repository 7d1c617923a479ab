// Package wording has what sentences and command lines for the operator are put
// together from, in whichever program they are printed.
package wording
