// Package failpoint names the places in which a test ends the process, as a
// kill or a power cut would. A name is "<package>.<what was just done>". In a
// binary built without the tag failpoints a point does nothing.
package failpoint

// Hook, if set, is called with the name of each point that is passed. Only
// tests, and binaries built with the tag failpoints, set it.
var Hook func(name string)

// Hit passes a point.
func Hit(name string) {
	if Hook != nil {
		Hook(name)
	}
}
