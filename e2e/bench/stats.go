package main

import (
	"math"
	"slices"
	"time"
)

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1000 }

// quantile returns the q-quantile (0 to 1) of values by linear interpolation
// between the two nearest. It is NaN without values.
func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	at := q * float64(len(sorted)-1)
	low := int(at)
	if low == len(sorted)-1 {
		return sorted[low]
	}
	part := at - float64(low)
	return sorted[low]*(1-part) + sorted[low+1]*part
}

func median(values []float64) float64 { return quantile(values, 0.5) }

// pairedRatios divides each value of ours by that of base from the same round.
// What slows the machine down for a while then stands on both sides.
func pairedRatios(ours, base []float64) []float64 {
	ratios := make([]float64, min(len(ours), len(base)))
	for i := range ratios {
		ratios[i] = ours[i] / base[i]
	}
	return ratios
}

// spread is half the distance between the quartiles as a part of the median.
func spread(values []float64) float64 {
	return (quantile(values, 0.75) - quantile(values, 0.25)) / 2 / median(values)
}
