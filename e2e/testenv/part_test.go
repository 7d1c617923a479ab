package testenv

import (
	"slices"
	"testing"
)

func TestPartsHaveEverythingOnce(t *testing.T) {
	all := []int{1, 2, 3, 4, 5, 6, 7}
	var got []int
	for _, part := range []string{"1/3", "2/3", "3/3"} {
		t.Setenv(partVariable, part)
		got = append(got, Part(t, all)...)
	}
	slices.Sort(got)
	if !slices.Equal(got, all) {
		t.Errorf("the parts have %v", got)
	}
	t.Setenv(partVariable, "")
	if got := Part(t, all); !slices.Equal(got, all) {
		t.Errorf("all is %v", got)
	}
}
