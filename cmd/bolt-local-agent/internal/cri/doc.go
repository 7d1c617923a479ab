// Package cri asks a container runtime for its pod sandboxes, over CRI v1
// (k8s.io/cri-api). It only ever asks: nothing is started, stopped or removed.
//
// Every call has a deadline. CRI itself tells the addresses of a sandbox, and
// neither interfaces nor networks; what containerd and CRI-O add to the answer
// when asked for verbose information tells the interfaces. That has no contract,
// so whatever of it cannot be read is passed over.
package cri
