package engine_test

import (
	"flag"
	"os"
	"testing"
)

// quickChecks is how many sequences the random test runs where the command line
// does not say (-rapid.checks). Each opens real files at every step.
const quickChecks = "8"

// everything is for a run without haste: what the quick run takes in turns it
// takes in all combinations.
var everything = flag.Bool("everything", false, "all combinations, which takes some minutes")

// sideBySide is how many tests run at once where the command line does not say:
// most of their time they wait for the disk.
const sideBySide = "8"

func TestMain(m *testing.M) {
	flag.Parse()
	asked := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { asked[f.Name] = true })
	for name, value := range map[string]string{"rapid.checks": quickChecks, "test.parallel": sideBySide} {
		if asked[name] {
			continue
		}
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
