# The habits of this repository. `make` alone lists them.
CARGO ?= cargo
# Which measurement `make bench` runs: see `cenote bench --help`. Others: `pool-fill --gadget mux8`, `mux --width 64`.
BENCH ?= and --backend wrk --ands 1000000
# Which target `make fuzz` runs, and for how long; needs nightly Rust and cargo-fuzz.
FUZZ ?= codec
FUZZ_SECONDS ?= 60
# How long `make fuzz-api` runs.
FUZZ_API_SECONDS ?= 600
# Options of `make tables`.
TABLES ?=
# Which mutants `make mutants` runs, by the starts of their ids; all if empty.
MUTANTS ?=

.PHONY: help setup venv demo test lint fmt docs deny python gallery tables bench kills soak fuzz fuzz-api mutants toy arithmetic

help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 10

setup: ## install what is missing on a Debian-like machine with Rust
	@.ci/setup

demo: setup ## two services answer requests on real data; one is killed in between
	$(CARGO) --locked xtask demo

test: setup ## everything that must hold: format, lints, tests, docs, licences
	$(CARGO) --locked xtask test

lint: setup ## layer and source rules, clippy
	$(CARGO) --locked xtask test lint clippy

fmt: ## format all sources
	$(CARGO) fmt --all

docs: ## API documentation, in target/doc
	$(CARGO) doc --workspace --no-deps --locked

deny: ## licences, sources and bans of the dependencies
	$(CARGO) --locked xtask test deny

python: setup ## build the Python package as a wheel, in target/wheels
	test -x target/venv/bin/maturin || (python3 -m venv target/venv && target/venv/bin/pip install --quiet -r python/requirements-dev.txt)
	cd python && ../target/venv/bin/maturin build --release --locked --out ../target/wheels

venv: setup
	test -x target/venv/bin/pip || python3 -m venv target/venv
	target/venv/bin/pip install --quiet -r python/requirements-dev.txt
	cd python && VIRTUAL_ENV=../target/venv ../target/venv/bin/maturin develop --locked --quiet

gallery: venv ## docs/gallery.md, its figures and the notebooks, from the shipped programs
	target/venv/bin/python -m programs.plots
	target/venv/bin/python -m programs.gallery
	target/venv/bin/python -m programs.notebooks

tables: venv ## docs/results.md: the paper's evaluation, measured here; TABLES=--quick to see that all runs, --large for the largest runs, --hour for an hour of seven days, --only 'Functions' for a section
	$(CARGO) build --release --locked --package cenote-cli
	target/venv/bin/python -m programs.tables $(TABLES)

kills: ## two services killed 1,000 times at random instants, and what they did checked
	$(CARGO) run --release --locked --package cenote-cli -- bench kills --kills 1000 --json

soak: ## two services under mixed jobs for half an hour: memory and latency
	$(CARGO) run --release --locked --package cenote-cli -- bench service --mixed --seconds 1800 --rate 20 --memory-growth 1.25 --latency-growth 2 --json

bench: ## one measurement: make bench BENCH="and --backend yao --ands 30000000"
	$(CARGO) run --release --locked --package cenote-cli -- bench $(BENCH) --json

fuzz: ## fuzz one target: make fuzz FUZZ=bristol FUZZ_SECONDS=600
	mkdir -p fuzz/target/found/$(FUZZ)
	cd fuzz && $(CARGO) +nightly fuzz run $(FUZZ) target/found/$(FUZZ) corpus/$(FUZZ) -- -max_total_time=$(FUZZ_SECONDS)

fuzz-api: setup ## fuzz the HTTP API from its own description: make fuzz-api FUZZ_API_SECONDS=600
	$(CARGO) --locked xtask fuzz-api $(FUZZ_API_SECONDS)

mutants: ## take each security check away in a copy, one at a time: a test must fail; MUTANTS="wrk. ot." for some
	$(CARGO) --locked xtask mutants $(MUTANTS)

toy: setup ## add a backend to a copy of the sources and use it: docs/contribute/backend.md holds
	$(CARGO) --locked xtask toy

arithmetic: ## change every operator of parameters, fields and codecs, one at a time: a test must fail; needs cargo-mutants
	$(CARGO) mutants --package cenote-pool --package cenote-prim --output target/arithmetic
	$(CARGO) mutants --package cenote-net --output target/arithmetic/net -- --lib --test handshake
	$(CARGO) mutants --package cenote-engine --output target/arithmetic/engine -- --lib -- message coin::
