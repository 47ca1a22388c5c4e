# The targets need only Go and make. `make` lists them.

BIN       := bin/xfn
MODULE    := github.com/xfn-dev/xfn
GO        ?= go
TOOL      := $(GO) tool -modfile=tools/go.mod
FUZZTIME  ?= 10s
BENCH     ?= .
BENCHTIME ?= 5s
LAYERS    ?= 4

# VERSION is the version that `xfn version` prints. It is "devel" without git, or
# outside of a checkout.
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
COMMIT  ?= $(shell git rev-parse HEAD 2>/dev/null)

# DIST is the folder of a release, and PLATFORMS what it is for. By default, both are those of
# tools/release.
DIST      ?= dist
PLATFORMS ?=

# WITHOUTGC lets the compiler and the linker use 1 GiB of memory before they collect garbage: they
# need an eighth and a quarter less CPU time. The output is the same.
WITHOUTGC := -toolexec 'env GOGC=off GOMEMLIMIT=1GiB'

# All packages are compiled without debug information, which the linker leaves out anyway: linking a
# test takes a fifth less CPU time, and the go command's cache is a quarter smaller. xfn compiles
# functions in the same way, so that tests of functions use the same compiled packages.
NODEBUG := -gcflags=all=-dwarf=false
export GOFLAGS := $(filter-out $(NODEBUG),$(GOFLAGS)) $(NODEBUG)

# SOURCES finds the Go files that `make lint` formats. The bundled template is another
# module, and files in testdata may be wrong on purpose.
SOURCES = find . -name '*.go' -not -path './templates/_go/*' -not -path '*/testdata/*'

# COMPILED is the folder of programs that take minutes to compile, in the user's cache. Their names
# contain a version or a checksum of the source, so that another source has another program.
COMPILED := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/xfn-test
APISERVER_VERSION := $(shell sed -n 's|^.k8s.io/kubernetes \(v[^ ]*\).*|\1|p' tools/apiserver/go.mod)
APISERVER := $(COMPILED)/kube-apiserver-$(APISERVER_VERSION)
VERIFIERS := $(COMPILED)/verifiers-$(firstword $(shell cat tools/imageconfig/* | cksum))

BENCHCMD = CGO_ENABLED=0 XFN_TEST_BIN='$(abspath $(BIN))' XFN_BENCH_ROWS='$(BENCH)' XFN_BENCH_TIME='$(BENCHTIME)' XFN_BENCH_LAYERS='$(LAYERS)' \
	$(GO) test -trimpath -vet=off -timeout 0 -run '^$$' -bench '^BenchmarkTable$$' -benchtime 1x -v ./internal/e2e/benchtest

.DEFAULT_GOAL := help
.PHONY: help build docs crds demo test race plain chaos test-verifiers compiled-paths test-apiserver lint platforms bench bench-compare bench-page soak fuzz release clean

help: ## List the targets.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# The linker writes a file by mapping it. The kernel loads a copy in larger pieces: a command then
# needs 12 % less CPU time for its start, and 6 MiB less memory.
build: ## Build bin/xfn.
	CGO_ENABLED=0 $(GO) build $(WITHOUTGC) -trimpath -buildvcs=false -ldflags '-s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT)' -o $(BIN) ./cmd/xfn
	@cp -p $(BIN) $(BIN).copy && mv $(BIN).copy $(BIN)

docs: build ## Write docs/reference from the program.
	rm -rf docs/reference && $(BIN) docs markdown docs/reference

crds: ## Write the CRDs in internal/schema/crossplane from the releases of Crossplane.
	$(GO) test -count=1 -run '^TestCrossplaneFiles$$' ./internal/schema -update

demo: build ## Show how to create, build and push a function, and how to test a platform.
	@sh testdata/demo.sh

# Scripts and golden cases run $(BIN). $(BIN) and the tests share compiled packages, because
# both are built without cgo and with -trimpath. JOBS is one more than the processors, because
# some packages and tests wait for servers. `make lint` vets all packages. Without a symbol table
# (-s), linking a test needs a sixth less time.
JOBS := $(shell echo $$(($$(getconf _NPROCESSORS_ONLN) + 1)))
TEST := XFN_TEST_BIN='$(CURDIR)/$(BIN)' CGO_ENABLED=0 $(GO) test $(WITHOUTGC) -p $(JOBS) -parallel $(JOBS) -trimpath -ldflags=-s -vet=off -timeout 30m

# With RACE=1, tests run with the race detector where it can find something. They run without it:
#   - in internal/e2e, which only runs programs
#   - in packages without goroutines of their own, in code and tests. $concurrent lists the others.
#   - if testing.Short() skips them: they compute much in one goroutine, repeat other tests, or kill
#     many processes. $large has a line "FILE TEST" for each.
# `make -j2 test RACE=1` runs both kinds at once, because many tests wait for other processes.
# atexit_sleep_ms=0 saves a second at the end of each process with the race detector.
RACETEST := GORACE=atexit_sleep_ms=0 XFN_SEEDS=$${XFN_SEEDS:-5} $(subst CGO_ENABLED=0,CGO_ENABLED=1,$(TEST)) -race -short
GOROUTINES := (^|[[:space:]])go (func|[A-Za-z_.]+)\(|\.Go\(|AfterFunc\(|\.Parallel\(|proc\.(All|Await|Each|ForEachOrdered|StartOnThread|StreamOrdered)\(|io\.Pipe\(|"(net/http.*|os/exec|google.golang.org/grpc)"
CONCURRENT = dirs=$$($(GO) list ./...) || exit 1; dirs=$$(echo "$$dirs" | sed 's|^$(MODULE)|.|'); \
	concurrent=$$(for dir in $$dirs; do grep -lE '$(GOROUTINES)' $$dir/*.go; done | sed 's|/[^/]*$$||' | sort -u | grep -v '/e2e$$')
LARGE = large=$$(find $$concurrent -maxdepth 1 -name '*_test.go' -exec \
	awk '/^func Test/ { sub(/\(.*/, "", $$2); name = $$2 } /testing\.Short\(\)/ { print FILENAME, name }' {} +)

# The packages that wait or take the longest are the first.
test: ## Run all tests, with the race detector if RACE=1. XFN_REQUIRE=registry makes a missing registry a failure. XFN_SEEDS=40 is the number of random faults, 5 with RACE=1.
ifdef RACE
test: build
	@$(MAKE) --no-print-directory -k race plain
else
test: build
	$(TEST) ./internal/e2e ./internal/sandbox ./internal/runtimes/process ./...
endif

race: build
	@$(CONCURRENT); $(RACETEST) ./push ./internal/runtimes/docker $$concurrent

plain: build
	@$(CONCURRENT); $(LARGE); status=0; \
	$(TEST) ./internal/e2e $$(echo "$$dirs" | grep -vxF "$$concurrent") || status=1; \
	$(TEST) -run "^($$(echo "$$large" | cut -d ' ' -f 2 | paste -sd '|' -))$$" $$(echo "$$large" | sed 's|/[^/]*$$||' | sort -u) || status=1; \
	exit $$status

# A seed waits more than it computes. It does not use the race detector, with which it takes several
# times as long.
chaos: ## Run the tests of random faults with XFN_SEEDS=200 seeds.
	CGO_ENABLED=0 XFN_SEEDS=$${XFN_SEEDS:-200} $(GO) test $(WITHOUTGC) -trimpath -ldflags=-s -vet=off -count=1 -timeout 10m -parallel 8 -run Chaos ./push ./internal/image

# Two cores need about ten minutes to compile kube-apiserver.
$(APISERVER):
	mkdir -p $(@D)
	CGO_ENABLED=0 $(GO) -C tools/apiserver build -trimpath -buildvcs=false \
		-ldflags '-s -w -X k8s.io/component-base/version.gitVersion=$(APISERVER_VERSION)' -o $@.new k8s.io/kubernetes/cmd/kube-apiserver
	mv $@.new $@

compiled-paths:
	@echo 'apiserver=$(APISERVER) verifiers=$(VERIFIERS)'

test-apiserver: build $(APISERVER) ## Compare xfn with a Kubernetes API server, which is compiled at the first time. It needs etcd.
	XFN_REQUIRE=apiserver XFN_TEST_APISERVER='$(APISERVER)' XFN_TEST_BIN='$(CURDIR)/$(BIN)' CGO_ENABLED=0 \
		$(GO) test -trimpath -count=1 -run '^TestAPIServer$$' ./internal/e2e

# Two cores need about four minutes to compile the verifiers.
$(VERIFIERS):
	mkdir -p $@.new
	CGO_ENABLED=0 $(GO) -C tools/imageconfig build $(WITHOUTGC) -trimpath -buildvcs=false -ldflags '-s -w' -o '$@.new' . github.com/sigstore/cosign/v3/cmd/cosign
	mv $@.new $@

test-verifiers: build $(VERIFIERS) ## Check that Crossplane and cosign accept our signatures. Their verifiers are compiled at the first time.
	XFN_REQUIRE=verifiers XFN_TEST_VERIFIERS='$(VERIFIERS)' XFN_TEST_BIN='$(CURDIR)/$(BIN)' CGO_ENABLED=0 \
		$(GO) test -trimpath -count=1 -run 'TestImageConfig|TestCosign' ./internal/e2e

# The flags are those of `build` and `test`: all use the same compiled packages.
lint: export CGO_ENABLED := 0
lint: export GOFLAGS := $(GOFLAGS) -trimpath
# As WITHOUTGC, but also for vet and staticcheck themselves.
lint: export GOGC := off
lint: export GOMEMLIMIT := 1GiB
lint: ## Check format (gofumpt), go vet and staticcheck.
	@files=$$($(SOURCES) | xargs $(TOOL) gofumpt -l && $(TOOL) gofumpt -modpath function-example -l templates/_go) || exit 1; \
	if [ -n "$$files" ]; then printf 'run gofumpt -w on:\n%s\n' "$$files" >&2; exit 1; fi
	$(GO) vet ./...
	$(TOOL) staticcheck ./...
	$(GO) -C tools/release vet ./...
	cd tools/release && $$(cd ../.. && $(TOOL) -n staticcheck) ./...
	$(GO) -C tools vet ./...

platforms: ## Check the types of all packages for linux/arm64, darwin/arm64 and windows/amd64.
	CGO_ENABLED=0 $(GO) -C tools run -trimpath ./typecheck '$(CURDIR)' linux/arm64 darwin/arm64 windows/amd64

bench: build ## Print a table of times next to their limits. BENCH=regexp of rows, BENCHTIME=5s for each, LAYERS=16 for an image of 4 GiB.
	$(BENCHCMD)

bench-compare: build ## Compare the times of BENCH=regexp with those of another commit, BASE=ref.
	XFN_BENCH_REF='$(or $(BASE),$(error set BASE to a commit))' $(BENCHCMD)

bench-page: ## Write the table of the last make bench into docs/explanation/performance.md.
	$(GO) test -count=1 -run '^TestPage$$' ./internal/e2e/benchtest -update

soak: ## Render XFN_SOAK=300 times in a row with the engine of DOCKER_HOST.
	XFN_SOAK="$${XFN_SOAK:-300}" $(GO) test -count=1 -timeout 1h -run '^TestManyInARow$$' ./internal/runtimes/docker

# go test can fuzz only one target of one package at a time. With -list, it prints the
# targets of a package before the line with the package's name.
fuzz: ## Run each fuzz target for FUZZTIME=10s.
	@targets=$$($(GO) test -list '^Fuzz' ./...) || { echo "$$targets" >&2; exit 1; }; \
	echo "$$targets" | awk '/^Fuzz/ { t[++n] = $$1 } /^ok/ { for (i = 1; i <= n; i++) print $$2, t[i]; n = 0 }' | \
	while read -r package target; do \
		echo "$$package $$target"; \
		$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzzminimizetime 10x -fuzztime '$(FUZZTIME)' "$$package" || exit 1; \
	done

release: build ## Write archives, packages, SBOMs and manifests of a release to DIST=dist, for PLATFORMS=linux/amd64,... Without a tag it is a snapshot.
	rm -rf dist
	CGO_ENABLED=0 $(GO) -C tools/release run -trimpath . -root '$(CURDIR)' -out '$(abspath $(DIST))' -xfn '$(CURDIR)/$(BIN)' $(if $(PLATFORMS),-platforms '$(PLATFORMS)')

clean: ## Remove built files.
	rm -rf bin dist
