# What make can do. Everything is installed into .venv and built into target.
#
#   make demo     compare queue disciplines on examples/branch-uplink.toml; builds an engine first if
#                 there is none, the quick way
#   make build    build the fast engine and install forebay into .venv
#   make test     run every check and test; with FOREBAY_CI=1 also those that take longest
#   make test-fast  only the tests that take less than a second each: for changes by hand
#   make lint     check formatting, run clippy, ruff and mypy, without the tests; JavaScript where npm is,
#                 workflows where Go is
#   make format   format Rust, Python and JavaScript
#   make gate     build target/release/forebay-gate and libforebay_gate.so (Linux)
#   make library  build target/release/libforebay.so and .a: the disciplines for C and C++
#   make install  put the C library, forebay.h and files for pkg-config and CMake below PREFIX, /usr/local by
#                 default, with DESTDIR before it (Linux; after make library)
#   make web      build the engine as a module for web pages, target/wasm32-unknown-unknown/web
#   make docs     write the generated reference pages
#   make site     build the documentation site, target/site/index.html, with the figures of papers and
#                 suites, and with the engine in a page if a compiler for it is there; fails at a
#                 broken link
#
#   make bench    run the benchmarks of the disciplines and of whole runs
#   make fuzz     run each fuzzer for FUZZ_SECONDS, 60 by default
#   make fuzz-python  only those in Python: importers, the journal, messages of explore
#   make fuzz-corpus  pack the fewest inputs that reach everything that the fuzzers have found
#   make miri     run the account of plug-ins' packets under Miri (a nightly Rust with miri and rust-src)
#   make sanitize run tests of unsafe code under AddressSanitizer (Linux; a nightly compiler)
#   make abuse    run the gate under abuse for ABUSE_SECONDS, ten minutes by default (Linux, root);
#                 then make every call of the system on a command's files fail
#   make faults   only the latter: a quarter of an hour
#   make soak     run the gate at overload for SOAK_SECONDS, an hour by default (Linux, root)
#   make suites   run the suites, keep their results in docs/suites and write the short pages of docs:
#                 ten minutes
#   make papers   run all papers in full and write their pages: two hours of processor time
#   make results  papers, suites and validate, so that no page is from an older engine than another;
#                 each continues where it was stopped
#   make hosted   compare forebay's disciplines inside ns-3 with those outside (Debian: libns3-dev g++)
#
#   make validate compare the simulator with theory and with every referee on this machine, and write
#                 docs/validation.md. It names the referees that are missing, and how to get them.
#                 An hour the first time; continues where it was stopped. NSC=FOLDER, NS318=PROGRAM,
#                 PAM2025=FOLDER, IMC2023=FOLDER
#   make validate-peers  the same with the referees alone; PEER_GROUPS="--only sack" is a part of
#                 ns-2 and ns-3
#   make virtual-linux   build Linux 6.1 in virtual time, a referee, once (Debian: linux-source-6.1);
#                        KERNEL=6.12 builds that one (linux-source-6.12)
#   make bench-peers     compare speed and memory with the referees; needs a quiet machine.
#                        HTSIM=FOLDER is a checkout of github.com/Broadcom/csg-htsim
#
#   make package  pack the crates that other programs use, and build them from their packages
#   make dist     make a release's files: wheels, source, Debian packages, a static gate (needs rustup)
#   make test-dist     install what `make dist` made without a compiler, and try it
#   make audit    check all dependencies: known vulnerabilities, licences and sources
#   make licences write THIRD-PARTY.md
#   make release  VERSION=0.3.0: test, build, commit and tag it (docs/release.md)
#   make lock     choose new versions of the Python packages, and make lock-crates
#   make lock-crates  write what crates of the tree need into each Cargo.lock, with no newer versions
#   make clean    remove what is built and installed

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CARGO ?= cargo
NPM := $(shell command -v npm)
JS := tools/js/node_modules
GO := $(shell command -v go)
ACTIONLINT := target/tools/bin/actionlint

export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help engine web dist test-dist audit licences release demo library install package hosted gate abuse soak miri sanitize test test-fast fuzz fuzz-corpus fuzz-python faults bench validate validate-peers bench-peers virtual-linux suites papers results lint format docs site lock lock-crates clean build dev rust-lint python-lint js-lint workflow-lint rust-test python-test
.DEFAULT_GOAL := help

# Prints the head of this file.
help:
	@sed -n '/^#/!q; s/^# \{0,1\}//p' $(firstword $(MAKEFILE_LIST))

# Unless there is an engine of `make build`, one without link-time optimisation is built, which takes
# half the time. It is about as fast.
demo site test python-test fuzz-python faults: PROFILE := $(if $(wildcard target/release/lib_engine.so),release,quick)
demo: build
	$(BIN)/forebay compare examples/branch-uplink.toml
	@$(if $(filter quick,$(PROFILE)),echo "This engine was built without link-time optimisation; make build builds a faster one.")

# Linters and Rust's tests often keep one core busy, or none, so two parts run at a time. Each part says
# its own when it ends; pytest, the longest, speaks at once. It needs what the tests in Rust have built.
# The engine is built once, at the beginning.
test: build dev
	@echo "== building tests in Rust (the first time takes minutes)"
	@$(CARGO) test --workspace --locked --no-run --quiet
	@$(MAKE) --no-print-directory --old-file=build --jobs=2 --output-sync=target lint rust-test python-test
	@echo "== all tests passed"

lint: rust-lint python-lint js-lint workflow-lint

# Crates beside the workspace have lock files of their own, which name what its crates need.
BESIDE := contrib/rattan fuzz
LOCKED = $(CARGO) update --quiet --workspace --manifest-path

rust-lint:
	@echo "== lock files of crates"
	@for folder in . $(BESIDE); do $(LOCKED) $$folder/Cargo.toml --locked || { \
	  echo "error: $$folder/Cargo.lock is behind the crates of the tree; run make lock-crates"; exit 1; }; done
	@echo "== cargo fmt --check"
	@$(CARGO) fmt --all --check
	@echo "== cargo clippy"
	@$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	@echo "== circles among modules"
	@$(PYTHON) tools/rust_circles.py

# Live tests of the gate mostly wait: four at a time for each core.
rust-test: export RUST_TEST_THREADS ?= $(shell expr 4 '*' $$(nproc 2>/dev/null || echo 2))
rust-test:
	@echo "== cargo test"
	@env -u MAKEFLAGS $(CARGO) test --workspace --locked

python-lint: dev
	@echo "== ruff"
	@$(BIN)/ruff format --check
	@$(BIN)/ruff check
	@echo "== import-linter"
	@found=$$(PYTHONPATH=python $(BIN)/lint-imports 2>&1) || { echo "$$found"; exit 1; }
	@echo "== mypy"
	@$(BIN)/mypy

# The tools are those of tools/js/package-lock.json. The plotting library that the wheel carries must
# be the one that they check against.
js-lint: $(if $(NPM),$(JS)/.package-lock.json)
ifdef NPM
	@echo "== biome"
	@$(JS)/.bin/biome check --error-on-warnings
	@echo "== tsc"
	@$(JS)/.bin/tsc --project tools/js
	@cmp $(JS)/uplot/dist/uPlot.iife.min.js python/forebay/_explore/page/vendor/uPlot.iife.min.js
else
	@echo "== JavaScript is not checked: npm is missing (Debian: nodejs npm)"
	@test -z "$(FOREBAY_CI)"
endif

# What hosts of CI would refuse; they do not run here.
workflow-lint: $(if $(GO),$(ACTIONLINT))
ifdef GO
	@echo "== actionlint"
	@$(ACTIONLINT)
else
	@echo "== workflows are not checked: go is missing (Debian: golang-go)"
endif

$(ACTIONLINT):
	@GOBIN=$(abspath $(@D)) $(GO) install github.com/rhysd/actionlint/cmd/actionlint@v1.7.12

# Browsers and packets of real networks are waited for: one more at a time than cores.
WORKERS ?= $(shell expr 1 + $$(nproc 2>/dev/null || echo 2))
python-test: build dev
	@echo "== pytest"
	+@$(if $(findstring n,$(firstword -$(MAKEFLAGS))),echo )env -u MAKEFLAGS $(BIN)/pytest --numprocesses $(WORKERS) --dist loadgroup --durations 25

# What takes over a second here belongs among the slow ones: tests/python/conftest.py.
test-fast: dev
	@$(CARGO) test --quiet --locked -p forebay-core -p forebay-disciplines --lib
	@$(BIN)/pytest --numprocesses auto --dist loadgroup -m "not slow" --durations 10 --durations-min 1

# Forebay's disciplines inside ns-3 (Debian: libns3-dev g++), beside themselves.
hosted: build library
	@$(CARGO) build --release --locked -p forebay-disciplines --example recorded
	@$(BIN)/python benches/peers/hosted.py

# The shared library is named after the interface's major version: programs run with every minor one.
BUILT = target/$(if $(filter dev,$(PROFILE)),debug,$(PROFILE))
INTERFACE := $(shell sed -n 's/^\#define FOREBAY_M[AI][JN]OR \([0-9]*\)$$/\1/p' crates/abi/include/forebay.h)
MAJOR := $(word 1,$(INTERFACE))
MAJOR_MINOR := $(MAJOR).$(word 2,$(INTERFACE))
library:
	@$(CARGO) rustc --profile $(PROFILE) --locked -p forebay-abi --features library \
	  --crate-type cdylib,staticlib -- \
	  $(if $(filter Linux,$(shell uname -s)),-Clink-arg=-Wl$(comma)-soname$(comma)libforebay.so.$(MAJOR))

comma := ,
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
install:
	@test -e $(BUILT)/libforebay.so || { echo "error: $(BUILT)/libforebay.so is missing; run make library"; exit 2; }
	@echo "== installing the C library into $(DESTDIR)$(PREFIX)"
	@mkdir -p $(addprefix $(DESTDIR),$(PREFIX)/include $(LIBDIR)/pkgconfig $(LIBDIR)/cmake/forebay)
	@install -m 644 crates/abi/include/forebay.h $(DESTDIR)$(PREFIX)/include
	@install -m 644 $(BUILT)/libforebay.a $(DESTDIR)$(LIBDIR)
	@install -m 755 $(BUILT)/libforebay.so $(DESTDIR)$(LIBDIR)/libforebay.so.$(MAJOR_MINOR)
	@ln -sf libforebay.so.$(MAJOR_MINOR) $(DESTDIR)$(LIBDIR)/libforebay.so.$(MAJOR)
	@ln -sf libforebay.so.$(MAJOR) $(DESTDIR)$(LIBDIR)/libforebay.so
	@fill() { sed -e 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@VERSION@|$(MAJOR_MINOR)|; s|@MAJOR@|$(MAJOR)|' \
	  -e "s|@INCLUDE@|$$(realpath -m --relative-to=$(LIBDIR)/cmake/forebay $(PREFIX)/include)|" \
	  crates/abi/install/$$1.in > $(DESTDIR)$(LIBDIR)/$$2/$$1; }; \
	fill forebay.pc pkgconfig && fill forebay-config.cmake cmake/forebay && \
	fill forebay-config-version.cmake cmake/forebay

# Of a package whose version is still the same, Cargo goes on with what it once unpacked and built.
PACKED := abi conformance core disciplines middlebox plugin quic shaper sim tcp world
package:
	@rm -rf target/packages $${CARGO_HOME:-$$HOME/.cargo}/registry/*/-*/forebay-*
	@$(CARGO) package --locked --allow-dirty --target-dir target/packages \
	  $(addprefix -p forebay-,$(PACKED))

CARGO_DEB := target/tools/bin/cargo-deb
dist: $(VENV)/installed-release $(CARGO_DEB) $(if $(NPM),$(JS)/.package-lock.json)
	@$(BIN)/python tools/release/dist.py
	@$(BIN)/twine check --strict dist/*.whl dist/forebay-?.*.tar.gz

test-dist: $(VENV)/installed-release
	@FOREBAY_DIST=1 $(BIN)/pytest --noconftest tests/python/test_dist.py

CARGO_DENY := target/tools/bin/cargo-deny
audit: $(VENV)/installed-dev $(CARGO_DENY)
	@$(BIN)/python tools/release/audit.py

CARGO_ABOUT := target/tools/bin/cargo-about
licences: $(CARGO_ABOUT)
	@$(PYTHON) tools/release/licences.py

release: $(VENV)/installed-dev
	@$(BIN)/python tools/release/release.py $(VERSION)

# Inputs that fail are kept in fuzz/artifacts; the corpus, inputs that reach new code, and logs in
# fuzz/found.
FUZZ_SECONDS ?= 60
PYTHON_FUZZERS := $(wildcard tests/python/test_fuzz_*.py tests/python/*/test_fuzz_*.py)
FUZZ_TARGETS := $(patsubst fuzz/fuzz_targets/%.rs,%,$(wildcard fuzz/fuzz_targets/*.rs))
CARGO_FUZZ := target/tools/bin/cargo-fuzz

fuzz: $(CARGO_FUZZ)
	@echo "== building the fuzzers"
	@$(CARGO_FUZZ) build --sanitizer none
	@for target in $(FUZZ_TARGETS); do \
	  found=fuzz/found/$$target; mkdir -p $$found || exit 1; \
	  test ! -e fuzz/corpus/$$target.tar.gz || tar -xf fuzz/corpus/$$target.tar.gz -C $$found || exit 1; \
	  dict=fuzz/dict/$$target.dict; \
	  echo "== fuzzing $$target for $(FUZZ_SECONDS) s"; \
	  $(CARGO_FUZZ) run --sanitizer none $$target $$found -- \
	    -max_total_time=$(FUZZ_SECONDS) -timeout=10 -rss_limit_mb=2048 -max_len=8192 \
	    $$(test -e $$dict && echo -dict=$$dict) > $$found.log 2>&1 || { tail -n 60 $$found.log; exit 1; }; \
	  grep DONE $$found.log; \
	done
	@$(MAKE) --no-print-directory fuzz-python

# Those in Python: what reads files of others, the journal, and messages of the page of explore.
fuzz-python: build dev
	FOREBAY_FUZZ_SECONDS=$(FUZZ_SECONDS) $(BIN)/pytest --numprocesses auto $(PYTHON_FUZZERS)

# Few inputs that reach what all in fuzz/found do become the corpora.
fuzz-corpus: $(CARGO_FUZZ)
	@for target in $(FUZZ_TARGETS); do \
	  found=fuzz/found/$$target; rm -rf $$found.kept; mkdir $$found.kept || exit 1; \
	  $(CARGO_FUZZ) run --sanitizer none $$target $$found.kept $$found -- \
	    -set_cover_merge=1 -use_counters=0 > $$found.log 2>&1 || { tail -n 60 $$found.log; exit 1; }; \
	  tar --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 --mode=644 \
	    -c -C $$found.kept . | gzip -9n > fuzz/corpus/$$target.tar.gz || exit 1; \
	  echo "$$target: $$(ls $$found.kept | wc -l) inputs"; \
	done

# What loads or compiles C is beyond Miri, and whole queues take too long.
miri:
	MIRIFLAGS=-Zmiri-disable-isolation CARGO_TARGET_DIR=target/miri \
	  $(CARGO) +nightly miri test --locked -p forebay-abi --lib

target/tools/bin/%:
	@echo "== installing $* into target/tools"
	@$(CARGO) install --quiet --locked --root target/tools $(VERSION_OF_$*)

VERSION_OF_cargo-about := cargo-about@0.9.3 --features cli
VERSION_OF_cargo-deb := cargo-deb@3.8.0
VERSION_OF_cargo-deny := cargo-deny@0.20.2
VERSION_OF_cargo-fuzz := cargo-fuzz@0.13.2

bench: build
	$(CARGO) bench --workspace --locked

# An hour at overload with every packet accounted for, and ten million mutated packets; as root.
SOAK_SECONDS ?= 3600
soak:
	@$(CARGO) build --release --locked -p forebay-gate --bins --examples
	FOREBAY_MUTATIONS=10000000 $(CARGO) test --release --locked -p forebay-fuzzing --test mutations
	$(PYTHON) benches/gate.py soak --seconds $(SOAK_SECONDS)

# What docs/reliability.md says, for longer than `make test` does it; as root. With debug assertions.
ABUSE_SECONDS ?= 600
ABUSE_EVENTS ?= 3000000
abuse:
	FOREBAY_CI=1 FOREBAY_EVENTS=$(ABUSE_EVENTS) $(CARGO) test --locked -p forebay-gate --test simulated --test processes -- --nocapture
	FOREBAY_CI=1 $(CARGO) test --locked -p forebay-gate --test live
	FOREBAY_CI=1 FOREBAY_ABUSE_SECONDS=$(ABUSE_SECONDS) $(CARGO) test --locked -p forebay-gate --test live \
	  under_abuse -- --nocapture --test-threads 1
	@$(MAKE) --no-print-directory faults

# Every call of the system that commands make on files fails, in every way; of the longest command,
# some do.
faults: build dev
	FOREBAY_FAULTS=1 $(BIN)/pytest --numprocesses auto --capture no tests/python/test_faults.py

# Packages whose tests run under AddressSanitizer. As root, the gate's live tests do, too. Leaks are not
# looked for: that takes ptrace, which the gate's sandbox refuses. One test at a time: they are slow.
# Freed memory is kept back for a while, which counts as the gate's. A plug-in in Rust finds the
# sanitizer's functions in the program that loads it, if it exports them.
SANITIZED := forebay-abi forebay-gate
sanitize:
	@$(CARGO) +nightly --version >/dev/null 2>&1 || { \
	  echo "error: make sanitize needs a nightly compiler: rustup toolchain install nightly --profile minimal"; exit 2; }
	RUSTFLAGS="-Zsanitizer=address -Clink-arg=-rdynamic" ASAN_OPTIONS=detect_leaks=0:quarantine_size_mb=16 \
	  $(CARGO) +nightly test --locked --no-fail-fast --tests \
	  --target $$($(CARGO) -vV | sed -n 's/^host: //p') --target-dir target/asan $(addprefix -p ,$(SANITIZED)) \
	  -- --test-threads 1

validate: build
	$(BIN)/forebay validate --out docs/validation/closed-forms.json
	$(BIN)/python benches/peers/replications.py
	@$(MAKE) --no-print-directory validate-peers

# Four referees are given by path: NSC (benches/peers/nsc/README.md), a dumbbell in ns-3.18, and
# checkouts of L4S-PAM2025 (benches/peers/testbed.py) and imcbbrrepro (unseen.py).
# PEER_GROUPS="--only sack --only aqm" runs these beside ns-2 and ns-3 again and keeps the rest.
REFEREES = $(if $(NSC),--nsc $(NSC)) $(if $(NS318),--ns318 $(NS318)) \
  $(if $(PAM2025),--pam2025 $(PAM2025)) $(if $(IMC2023),--imc2023 $(IMC2023)) $(PEER_GROUPS)
validate-peers: build
	@code=0; $(BIN)/python benches/peers/referees.py $(REFEREES) || code=$$?; \
	$(VALIDATION_PAGE) && exit $$code

bench-peers: build
	$(BIN)/python benches/peers/bench.py $(if $(HTSIM),--htsim $(HTSIM))
	@$(VALIDATION_PAGE)

virtual-linux:
	@PYTHONPATH=python $(PYTHON) -m forebay.lab.virtual.kernel $(if $(KERNEL),--kernel $(KERNEL))

VALIDATION_PAGE = $(BIN)/python benches/peers/validation.py docs/validation docs/validation.md

format: dev $(if $(NPM),$(JS)/.package-lock.json)
	$(CARGO) fmt --all
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	$(if $(NPM),$(JS)/.bin/biome check --write)

SUITES = rfc7928 rfc9743 l4s bbr attack
suites: build
	@for suite in $(SUITES); do $(BIN)/forebay suite $$suite || exit; done
	@$(BIN)/python tools/results_pages.py keep $(foreach suite,$(SUITES),$(suite)=out/$(suite))

# A claim that differs stops no other paper; the code says that there was one.
PAPERS = $(subst _,-,$(patsubst papers/%/paper.toml,%,$(wildcard papers/*/paper.toml)))
papers: build
	@code=0; for paper in $(PAPERS); do $(BIN)/forebay paper run $$paper --page || code=$$?; \
	test $$code -lt 2 || exit $$code; done; exit $$code

results:
	@code=0; for each in papers suites validate; do $(MAKE) --no-print-directory $$each || code=$$?; done; exit $$code

docs: build dev
	@$(CARGO) run --quiet --locked -p forebay-gate -- schema --without-queues > target/gate.schema.json
	@mv target/gate.schema.json python/forebay/_reference/gate.schema.json
	$(BIN)/python tools/reference/write.py docs/reference

# rustup has a library for each target; Debian's compiler has it in a package.
WASM := wasm32-unknown-unknown
RUSTC ?= rustc
WASM_LIBRARY = $(wildcard $(shell $(RUSTC) --print target-libdir --target $(WASM) 2>/dev/null)/libstd-*.rlib)
# The conformance suite draws its cases from a fixed seed: it asks no system for random numbers.
# Copies by vector instructions are smaller. Browsers that have what the pages use have these, too.
web: export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS := \
  --cfg getrandom_backend="unsupported" -Ctarget-feature=+simd128
WEB = $(CARGO) rustc --profile web --locked --target $(WASM) -p forebay-web --lib
# The linker leaves five bytes for each number of a function unless it is asked not to.
SHORT := -- -Clink-arg=--compress-relocations
web:
	@test -n "$(WASM_LIBRARY)" || { \
	  echo "error: Rust has no library for $(WASM): rustup target add $(WASM), or Debian's libstd-rust-dev-wasm32"; exit 2; }
	@echo "== building the engine for web pages"
	@mkdir -p target/page
	@$(WEB) $(SHORT)
	@cp target/$(WASM)/web/forebay_web.wasm target/page/forebay.wasm
	@$(WEB) --features playground $(SHORT)
	@cp target/$(WASM)/web/forebay_web.wasm target/page/playground.wasm

site: build $(VENV)/installed-site $(if $(NPM),$(JS)/.package-lock.json)
	@$(if $(WASM_LIBRARY),$(MAKE) --no-print-directory web,echo "No engine in the page: make web says why")
	@echo "== building the site"
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "target/site/index.html"

# The extension module is built as it is used, optimised; cargo rebuilds only what has changed. The
# packages that it is used with are installed meanwhile: the end of a build keeps one core busy.
PROFILE ?= release
# What --version says: the commit that last changed what is compiled, and + if that has changed since.
COMPILED := crates Cargo.toml Cargo.lock
COMMIT = $(shell git log -1 --format=%h --abbrev=12 -- $(COMPILED) 2>/dev/null)
build engine gate dist: export FOREBAY_COMMIT = $(addsuffix \
  $(shell git diff --quiet HEAD -- $(COMPILED) 2>/dev/null || echo +),$(COMMIT))
MATURIN = PIP_QUIET=1 VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/maturin develop --profile $(PROFILE) --locked
build:
	@$(MAKE) --no-print-directory $(if $(findstring jobserver,$(MAKEFLAGS)),,--jobs=2) \
	  PROFILE=$(PROFILE) $(VENV)/installed engine
	@$(MATURIN)

engine: $(VENV)/installed-maturin
	@echo "== building forebay ($(PROFILE); the first time takes $(if $(filter quick,$(PROFILE)),a minute,a few minutes))"
	@$(MATURIN) --skip-install

# The gate needs no Python: target/release/forebay-gate.
gate:
	@echo "== building forebay-gate (release)"
	@$(CARGO) build --release --locked -p forebay-gate

dev: $(VENV)/installed-dev

$(VENV)/bin/python:
	@command -v $(CARGO) >/dev/null || { echo "error: cargo is missing; install Rust from https://rustup.rs"; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
	  echo "error: $(PYTHON) is missing or older than 3.10; name another with make PYTHON=python3.12"; exit 2; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
	  echo "error: $(PYTHON) cannot make a virtual environment; on Debian and Ubuntu: apt-get install python3-venv"; exit 2; }

$(VENV)/installed-maturin: requirements.lock | $(VENV)/bin/python
	@awk '/^[a-z]/ { keep = /^(maturin|tomli)==/ } keep' $< > $(VENV)/maturin.lock
	@$(BIN)/python -m pip install --quiet --require-hashes -r $(VENV)/maturin.lock
	@touch $@

$(VENV)/installed: requirements.lock $(VENV)/installed-maturin
	@echo "== installing Python packages into $(VENV)"
	@$(BIN)/python -m pip install --quiet --require-hashes -r requirements.lock
	@touch $@

$(VENV)/installed-dev: requirements-dev.lock $(VENV)/installed
	@echo "== installing development tools into $(VENV)"
	@$(BIN)/python -m pip install --quiet --require-hashes -r requirements.lock -r requirements-dev.lock
	@touch $@

$(VENV)/installed-site: requirements-site.lock $(VENV)/installed
	@echo "== installing what builds the site into $(VENV)"
	@$(BIN)/python -m pip install --quiet --require-hashes -r requirements.lock -r requirements-site.lock
	@touch $@

$(VENV)/installed-release: requirements-release.lock $(VENV)/installed-dev
	@echo "== installing what makes releases into $(VENV)"
	@$(BIN)/python -m pip install --quiet --require-hashes -r requirements.lock -r requirements-dev.lock -r requirements-release.lock
	@touch $@

$(JS)/.package-lock.json: tools/js/package-lock.json
	@echo "== installing what checks JavaScript into $(JS)"
	@$(NPM) --prefix tools/js ci --silent --ignore-scripts
	@touch $@

# One resolution for all Pythons from 3.10, and hashes for Linux alone (pyproject.toml, [tool.uv]). A
# lock file has only what those before it lack: uv's own format takes three times the room.
EXPORTED = $(BIN)/uv export --quiet --frozen --no-default-groups --no-emit-project --no-annotate --no-header
BEYOND = awk 'FILENAME != "-" { if (/^[a-z]/) known[$$0]; next } /^[a-z]/ { keep = !($$0 in known) } keep'
lock: lock-crates | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv lock --quiet --upgrade
	$(EXPORTED) --extra build --extra tune > requirements.lock
	$(EXPORTED) --extra build --extra tune --extra dev | $(BEYOND) requirements.lock - > requirements-dev.lock
	$(EXPORTED) --extra build --extra tune --extra site | $(BEYOND) requirements.lock - > requirements-site.lock
	$(EXPORTED) --group release | $(BEYOND) requirements.lock requirements-dev.lock - > requirements-release.lock
	@rm uv.lock

lock-crates:
	@for folder in . $(BESIDE); do $(LOCKED) $$folder/Cargo.toml || exit; done

clean:
	rm -rf $(VENV) $(JS) target python/forebay/*.so
