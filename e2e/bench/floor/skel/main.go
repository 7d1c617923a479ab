// Command skel is a plugin that does nothing: what the standard library of CNI
// costs at each call before the work begins.
package main

import (
	"github.com/containernetworking/cni/pkg/skel"
	"github.com/containernetworking/cni/pkg/version"
)

func nothing(*skel.CmdArgs) error { return nil }

func main() {
	skel.PluginMainFuncs(skel.CNIFuncs{Add: nothing, Del: nothing}, version.All, "does nothing")
}
