package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/bolt-local/bolt-local/cmd/internal/nodestatus"
)

// printMetrics prints gauges in the Prometheus text format, version 0.0.4, for
// the node exporter's textfile collector.
func printMetrics(s screen, families []nodestatus.Family) error {
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	var b strings.Builder
	for _, f := range families {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s gauge\n", f.Name, f.Help, f.Name)
		for _, sample := range f.Samples {
			pairs := make([]string, len(sample.Labels))
			for i, l := range sample.Labels {
				pairs[i] = l.Name + `="` + escape.Replace(l.Value) + `"`
			}
			labels := ""
			if len(pairs) > 0 {
				labels = "{" + strings.Join(pairs, ",") + "}"
			}
			fmt.Fprintf(&b, "%s%s %s\n", f.Name, labels, sample.Value)
		}
	}
	_, err := io.WriteString(s, b.String())
	return err
}
