# All commands of a developer. `make demo` and `make test` are the two commands of the README.
PYTHON ?= python3
BIN := .venv/bin
REPORTS := sluice-report
SOURCES := Cargo.toml Cargo.lock .cargo/config.toml \
	$(shell find aqm engine gate kernel -name '*.rs' -o -name '*.h' -o -name '*.c' -o -name Cargo.toml)
# what takes minutes shows its progress to who looks at it
QUIET = $(shell [ -t 2 ] || echo --quiet)
# `yes` if libbpf can be compiled: it needs the headers of libelf and zlib (Debian: libelf-dev). Asked at each
# use, as `make test` may install them
BPF = $(shell printf '\043include <libelf.h>\n\043include <zlib.h>\n' | $(CC) -E - >/dev/null 2>&1 && echo yes)
FEATURES = $(if $(BPF),--features sluice-gate/kernel)
# The engine for web pages needs clang, for its C, and Rust's target wasm32-unknown-unknown
PAGE := sluicegate/page/engine.wasm
WASM_CC = $(shell for each in clang $(addprefix clang-,21 20 19 18 17 16 15 14); do command -v $$each && break; done)
WASM = $(shell [ -d "$$(rustc --print target-libdir --target wasm32-unknown-unknown)" ] && echo yes)
MEMBERS = --workspace $(if $(BPF),,--exclude sluice-kernel)
# Debian's ordinary users do not have these folders, in which ip, nft and iptables are
export PATH := $(PATH):/usr/sbin:/sbin
export VIRTUAL_ENV := $(CURDIR)/.venv
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_QUIET := 1
# Python keeps its bytecode, so that later commands start faster
unexport PYTHONDONTWRITEBYTECODE

.PHONY: build page generated vectors outputs demo test needs check wheel lint bench bench-builds bench-gate bench-live bench-page bench-qdisc equality regret closed-loop bench-peers decisions docs lock clean tools
.DELETE_ON_ERROR:

# router and page at the same time: at the end of each, one crate is compiled alone
build: .venv/built
	@$(MAKE) --silent --jobs=2 .venv/bin/sluiced $(PAGE)

.venv/builders: requirements.lock | tools
	@$(PYTHON) -m venv .venv
	@sed -n '/^uv==\|^maturin==/,/[^\]$$/p' requirements.lock >.venv/builders.lock
	@$(BIN)/pip install --no-deps --require-hashes --requirement .venv/builders.lock
	@touch $@

.venv/installed: .venv/builders
	@echo "build: Python packages, as locked, into .venv (a quarter of a minute the first time)"
	@# pip if uv fails: uv does not read pip's settings, such as another package index
	@$(BIN)/uv pip install --quiet --no-deps --require-hashes --requirement requirements.lock || \
		$(BIN)/pip install --no-deps --require-hashes --requirement requirements.lock
	@touch $@

# without MAKEFLAGS: cargo would look for make's job server and not find it. With --uv: maturin first
# looks for its installer, and pip may be replaced by its locked version at that moment; uv is not
.venv/compiled: .venv/builders $(SOURCES) | tools
	@echo "build: the engine (Rust and C, optimised: two to five minutes the first time)"
	@env -u MAKEFLAGS $(BIN)/maturin develop --locked --skip-install --uv
	@touch $@

# both at the same time: the packages are installed while the engine is compiled
.venv/built: requirements.lock pyproject.toml wheel/scripts/sluice $(SOURCES)
	@$(MAKE) --no-print-directory --jobs=2 .venv/installed .venv/compiled
	@$(BIN)/maturin develop --locked --quiet --uv || $(BIN)/maturin develop --locked --quiet
	@# compiles the bytecode once: where Python may not write it, each command takes 3 s to compile it
	@$(BIN)/python -c 'import sluicegate.cli.compare, sluicegate.report.comparison, scipy.special'
	@touch $@

# what sluiced is built with: changes when headers that it needs come or go
target/features: always
	@mkdir -p target
	@echo '$(FEATURES)' | cmp -s - $@ || echo '$(FEATURES)' >$@

.PHONY: always
always:

.venv/bin/sluiced: .venv/installed target/features $(SOURCES) | tools
	@echo "build: the router sluiced (a minute the first time)"
	@env -u MAKEFLAGS cargo build --quiet --locked --package sluice-gate $(FEATURES)
	@ln -sf ../../target/debug/sluiced $@ && touch $@

page: $(PAGE)

$(PAGE): $(SOURCES) | tools
	@if [ -z "$(WASM)" ]; then \
		echo "build: no web page: Rust's target is missing (rustup target add wasm32-unknown-unknown)"; \
	elif [ -z "$(WASM_CC)" ]; then \
		echo "build: no web page: clang is missing (Debian, Ubuntu: apt install clang)"; \
	else \
		echo "build: the engine for web pages (WebAssembly: one to two minutes the first time)"; \
		env -u MAKEFLAGS CC_wasm32_unknown_unknown=$(WASM_CC) cargo build --quiet --locked --package sluice-page \
			--target wasm32-unknown-unknown --profile page && \
		cp target/wasm32-unknown-unknown/page/sluice_page.wasm $@; \
	fi

# the schema of scenarios, and the Python classes made from it: both are committed
generated: .venv/installed
	@cargo run --quiet --locked --package sluice-scenario --example schema >target/schema.json
	@mv target/schema.json docs/reference/scenario.schema.json
	@$(BIN)/python engine/scenario/classes.py

# the test vectors of aqm/vectors/: they are committed
vectors: | tools
	@cargo run --quiet --locked --package sluice-contract --example vectors
	@cd aqm/vectors && sha256sum *.txt >SHA256SUMS

# the schemas of the --json outputs, made from the code that writes them: they are committed
outputs: .venv/built
	@$(BIN)/python docs/outputs.py && $(BIN)/python docs/readme.py

demo: .venv/built
	@echo "demo: a real capture, replayed (good are short times in the queue, sojourns, and few losses)"
	@$(BIN)/sluice compare scenarios/gateway.toml --out $(REPORTS)/gateway
	@echo "demo: bursts at all time-scales"
	@$(BIN)/sluice compare scenarios/bursty.toml --out $(REPORTS)/bursty
	@echo "demo: the two reports are pages with plots: open them in a browser"

# what the tests need besides python3, cc and cargo; INSTALL=no leaves it
needs:
	@$(PYTHON) tests/needs.py install

# two workers more than processors: tests of real routers wait most of the time
test: tools needs
	@$(MAKE) --no-print-directory build
	@$(BIN)/python tests/needs.py kernel
	@echo "test: Rust (compiling takes two to three minutes the first time)"
	@cargo build --locked $(MEMBERS) $(FEATURES) --tests --profile test
	@cargo test --quiet --locked $(MEMBERS) $(FEATURES) --tests
	@echo "test: Python, and every example of the documentation"
	@$(BIN)/pytest --quiet --numprocesses $$(($$(nproc) + 2)) --dist worksteal

# for daily work: formatting, types, and the quick tests
check: lint
	@echo "check: Rust"
	@# without the extension module: it has no tests, and pyo3 would be compiled with another setting than maturin's
	@cargo test --quiet --locked $(MEMBERS) --exclude sluice-python $(FEATURES) --lib -- --skip slow_tests::
	@echo "check: Python"
	@$(BIN)/pytest --quiet --numprocesses $$(nproc) --dist worksteal -m "not slow"

wheel: wheel/scripts/sluiced .venv/installed $(PAGE)
	@echo "wheel: the engine, with full optimisation (some minutes of CPU time); into target/wheels"
	@$(BIN)/maturin build --release --locked; built=$$?; rm $<; exit $$built

# in the folder of the wheel's other command; without BPF, as another machine may lack its libraries
wheel/scripts/sluiced: $(SOURCES) | tools
	@echo "wheel: the router sluiced, with full optimisation (some minutes of CPU time)"
	@cargo build $(QUIET) --locked --release --package sluice-gate
	@cp target/release/sluiced $@

lint: build
	@echo "lint: Python"
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy
	@echo "lint: Rust"
	@cargo fmt --all --check
	@rustfmt --edition 2024 --check engine/tcp/src/congestion/*.rs engine/tcp/src/congestion/*/*.rs aqm/examples/*.rs
	@# with maturin's setting: with another one the next build would compile pyo3, and all that uses it, again
	@PYO3_CONFIG_FILE="$$(ls -t "$(CURDIR)"/target/maturin/pyo3-config-*.txt | head -n 1)" \
		cargo clippy --quiet --locked $(MEMBERS) $(FEATURES) --all-targets -- -D warnings
	@echo "lint: C, in a program with an operating system, without one, and without 128 bits"
	@for header in aqm/*.h; do for world in HOSTED FREESTANDING PORTABLE; do \
		$(CC) -std=gnu11 -O2 -Wall -Wextra -Werror -DAQM_$$world -fsyntax-only \
			-include $$header -x c /dev/null || exit 1; \
	done; done

bench: build
	@$(BIN)/python bench/slotted.py
	@$(BIN)/python bench/instructions.py
	@$(BIN)/python bench/chain.py
	@$(BIN)/python bench/frontier.py
	@$(BIN)/python bench/gym.py
	@$(BIN)/python bench/growth.py
	@$(BIN)/python bench/schedulers.py
	@$(BIN)/python bench/sweep.py
	@$(BIN)/python bench/trace.py
	@$(BIN)/python bench/headers.py
	@$(if $(BPF),$(BIN)/python bench/decisions.py,echo "bench: decisions: skipped, the headers of libelf and zlib are missing (libelf-dev, zlib1g-dev)")

bench-builds: build
	@cargo build --locked --package sluice-python --profile plain
	@cargo build --locked --package sluice-python --release
	@$(BIN)/python bench/builds.py

bench-gate: build
	@cargo build --quiet --locked --release --manifest-path bench/nfq_loop/Cargo.toml --target-dir target/nfq_loop
	@$(BIN)/python bench/gate.py
	@$(BIN)/python bench/gate_recording.py
	@$(BIN)/python bench/gate_recording_cost.py

bench-live: build
	@$(BIN)/python bench/live.py

bench-page: build
	@$(BIN)/python bench/page.py

bench-qdisc: build
	@$(BIN)/python bench/qdisc.py verify
	@$(BIN)/python bench/qdisc.py cost

# runs that were made before are kept, and not made again
equality: build
	@$(BIN)/python bench/equality.py run --seeds 10
	@$(BIN)/python bench/equality.py page
	@$(BIN)/python bench/dualpi2.py run --seeds 10
	@$(BIN)/python bench/dualpi2.py page
	@$(BIN)/python bench/service.py run --seeds 10
	@$(BIN)/python bench/service.py page

# regret of every AQM on six sources, and of the papers' rows: what was measured before is kept
regret: build
	@$(BIN)/python bench/regret.py run
	@$(BIN)/python bench/regret.py page

# the search under TCP beside all AQMs: what was measured before is kept
closed-loop: build
	@$(BIN)/python bench/closed_loop.py run
	@$(BIN)/python bench/closed_loop.py page

bench-peers: build
	@dpkg -s ns2 libns3-dev >/dev/null 2>&1 || { \
		[ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
		apt-get install -qq -y --no-install-recommends ns2 libns3-dev >/dev/null; } || true
	@$(BIN)/python bench/peers/agreement.py
	@$(BIN)/python bench/peers/overload.py
	@$(BIN)/python bench/peers/speed.py

# `make test` does this with 20,000 packets. PART=3/8 compares the third of eight parts. Profile and
# features are those of `make build`: without the test profile's checks, and because cargo also
# compiles sluiced again
PART ?= 1/1
decisions: | tools
	@echo "decisions: a million packets through a replay and the network world, part $(PART)"
	@SLUICE_PART=$(PART) cargo test --quiet --locked --package sluice-gate $(FEATURES) --profile dev --test gate replay:: -- --ignored --nocapture

docs: build
	@echo "docs: into docs/_build/html"
	@$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going docs docs/_build/html

.PHONY: images
images: build
	@echo "images: the images of the documentation, from its examples"
	@$(BIN)/python docs/draw.py

# without the browser driver (45 MB) that axe-playwright-python requires: tests use only its axe-core
lock: .venv/installed
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --group tools --generate-hashes \
		--no-emit-package playwright --no-emit-package greenlet --no-emit-package pyee \
		--no-emit-index-url --no-header --output-file requirements.lock pyproject.toml
	@cargo update --workspace --quiet

clean:
	@rm -rf .venv target wheel/scripts/sluiced $(PAGE) docs/_build docs/reference/generated $(REPORTS) bench/results.json bench/chain.json bench/chain.png bench/growth.json bench/growth.png bench/gate.json bench/gate_recording.json bench/qdisc.json bench/peers/results

tools:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "sluicegate needs Python 3.11 or newer: install it, or run make with PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { \
		echo "sluicegate needs Python's venv (Debian, Ubuntu: apt install python3-venv)" >&2; exit 1; }
	@command -v cc >/dev/null || { \
		echo "sluicegate needs a C compiler named cc (Debian, Ubuntu: apt install build-essential)" >&2; exit 1; }
	@command -v cargo >/dev/null || { \
		echo "sluicegate needs Rust 1.88 or newer: see https://rustup.rs" >&2; exit 1; }
