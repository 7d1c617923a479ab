# make demo and make test do everything on a machine that has Go, gcc and make.

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS  = -s -w -X main.version=$(VERSION)
FUZZTIME ?= 10s

.PHONY: build
build: ## bin/bolt-local and bin/bolt-local-agent, static
	CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o bin/ ./cmd/...

.PHONY: demo
demo: tools-debian ## pods move from host-local and back on a real bridge (needs root)
	cd e2e && go run ./demo

.PHONY: test
test: lint unit e2e ## everything that must pass

.PHONY: unit
unit: ## tables, models, command line; needs no root
	@$(MAKE) --no-print-directory -j2 -Otarget unit-packages unit-scripts

.PHONY: unit-packages
unit-packages:
	go test -race -timeout 30m $$(go list ./... | grep -v '/cmd/bolt-local$$')
	go test -tags failpoints ./internal/failpoint

# Thousands of processes of a moment each, of packages that the race detector
# has seen above.
.PHONY: unit-scripts
unit-scripts:
	go test -timeout 30m ./cmd/bolt-local

# Random choices are the same in each run; soak, and E2E_SEED, make others. What
# runs here are processes, so the race detector is for unit alone.
.PHONY: e2e
e2e: tools-debian runtime-debian ## real plugins, real packets, many processes (network part needs root)
	cd e2e && go run ./preflight && bin=$$(mktemp -d) && trap 'rm -rf "$$bin"' EXIT INT TERM && go run ./binaries "$$bin" && \
		E2E_BIN_DIR="$$bin" E2E_SEED=$(or $(E2E_SEED),1) go test -count=1 -timeout 30m ./...

.PHONY: lint
lint: ## gofmt, go vet and staticcheck, in both modules
	@test -z "$$(gofmt -l .)" || { echo "gofmt would change:"; gofmt -l .; exit 1; }
	go vet ./... && go vet -tags failpoints ./internal/failpoint
	go tool -modfile=tools/go.mod staticcheck ./...
	cd e2e && go vet ./... && go tool -modfile=../tools/go.mod staticcheck ./...

.PHONY: fuzz
fuzz: ## every decoder, FUZZTIME each
	@for target in $$(grep -rhoE --include='*_test.go' '^func Fuzz[A-Za-z0-9]+' . | cut -c6-); do \
		dir=$$(dirname $$(grep -rlE --include='*_test.go' "^func $$target\(" .)); \
		echo "$$target in $$dir"; \
		go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 20x $$dir || exit 1; \
	done

.PHONY: soak
soak: ## a day of churn and a storm, then random lives with new seeds, until interrupted or for SOAK (30m)
	cd e2e && E2E_CHURN=1000000 E2E_CHURN_PROCESSES=20000 go test -count=1 -timeout 0 -v ./churn
	cd e2e && E2E_STORM=1m go test -count=1 -timeout 0 -v -run '^TestAStorm' ./process
	cd e2e && E2E_SOAK=$(or $(SOAK),0) go test -count=1 -timeout 0 -v -run '^TestRandomLivesOfANode$$' ./model

.PHONY: bench
bench: ## whole processes, side by side with host-local
	cd e2e && go run ./bench

# ip(8) is all that the demo needs beyond Go, gcc and make; the tests of a real
# container runtime need containerd and runc, too.
.PHONY: tools-debian
tools-debian:
	@command -v ip >/dev/null || $(call install,iproute2) || \
		echo "ip(8) is missing: install iproute2; without it and root the network tests are skipped"

.PHONY: runtime-debian
runtime-debian:
	@command -v containerd >/dev/null && command -v runc >/dev/null || $(call install,containerd runc) || \
		echo "containerd or runc is missing: without them and root the tests of a real container runtime are skipped"

install = { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && echo "installing $(1)" && apt-get update -qq && \
	RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(1); }

.PHONY: clean
clean:
	rm -rf bin

.PHONY: help
help:
	@sed -n 's/^\([a-z][a-z0-9-]*\):.*## /  \1\t/p' Makefile
