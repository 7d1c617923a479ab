// Package cli is the operator's command line. Commands that read copy what they
// need under the checkpoint's lock and let go of it before they print, so that
// a slow terminal never holds up a pod's start.
//
// The package is linked into the plugin, which starts with every pod: nothing
// here happens before [Main].
package cli
