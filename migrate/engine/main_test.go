package engine_test

import (
	"flag"
	"os"
	"testing"
)

// quickChecks is how many sequences the random test runs where the command line
// does not say (-rapid.checks). Each opens real files at every step.
const quickChecks = "12"

func TestMain(m *testing.M) {
	flag.Parse()
	asked := false
	flag.Visit(func(f *flag.Flag) { asked = asked || f.Name == "rapid.checks" })
	if !asked {
		if err := flag.Set("rapid.checks", quickChecks); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
