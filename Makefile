# properloss: `make demo` shows it, `make test` checks everything, `make help` lists the rest.
# Needs: a Rust toolchain, Python 3.11 or newer, make. Everything else is installed below .venv.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check --quiet

MAKEFLAGS += --no-print-directory
.PHONY: docs dist test-dist dependency-costs version public-api test-api test-msrv semver reproduce quality quality-summary quality-ablation quality-time bench-chain bench-train bench-onnx bench-scale bench-certified help demo test test-rust test-python test-browser test-oldest build-python bench-python test-learners test-export-full study-learners lint doc fmt fuzz clean certificate-coverage quality-multiclass time-multiclass

help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-20s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: ## learn classifiers and their losses on carried data; outputs below target/demo/
	cargo run --profile quick --no-default-features --quiet -p properloss-cli --bin properloss -- demo --out target/demo

test: lint test-rust test-api test-python docs test-browser ## everything CI runs

lint: ## rustfmt and clippy, warnings are errors
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --quiet -- -D warnings

test-rust: ## unit, property, documentation and command-line tests
	cargo test --workspace --quiet

$(VENV)/.installed: python/requirements-dev.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) install -r python/requirements-dev.txt
	touch $@

build-python: $(VENV)/.installed ## the Python module, into .venv
	VIRTUAL_ENV=$(abspath $(VENV)) $(PY) -m maturin develop --release --locked --quiet

test-python: build-python ## types, documentation and scikit-learn's checks of the Python package
	$(PY) -m mypy
	$(PY) -m pytest -n auto --maxprocesses 4 --dist loadgroup

test-learners: build-python ## the tests of boosters, PyTorch and glum, which it installs (torch is large)
	$(PIP) install -r python/requirements-learners.txt
	$(PY) -m pytest python/tests/test_pooled.py python/tests/test_learners.py python/tests/test_learners_torch.py

test-export-full: build-python ## exports on 1e6 rows: every link, every example model, several classes (half an hour)
	PROPERLOSS_PROFILE=full $(PY) -m pytest python/tests/test_onnx.py python/tests/test_export_several.py python/tests/test_export_sources.py

test-browser: build-python ## the report page and the site in a real browser; skipped where none can be had
	python/browser/run.sh $(PY)

OLDEST := .venv-oldest
$(OLDEST)/.installed: python/requirements-oldest.txt
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip --disable-pip-version-check --quiet install -r python/requirements-oldest.txt
	touch $@

test-oldest: build-python $(OLDEST)/.installed ## the same tests on the oldest supported scikit-learn
	PYTHONPATH=python $(OLDEST)/bin/python -m pytest

bench-python: build-python ## Python against Rust and against scikit-learn, in one run
	$(PY) python/bench/overhead.py

bench-chain: $(VENV)/.installed ## the chain solver against a sort, scikit-learn and Clarabel, in one run
	cargo build --release --quiet -p properloss --example chain_bench
	CLARABEL=1 target/release/examples/chain_bench 7 5 "$$($(PY) bench/chain/isotonic_sklearn.py 7)"

bench-train: $(VENV)/.installed ## an iteration against the products of numpy and scipy, in one run
	cargo build --release --quiet -p bench-train
	$(PY) bench/train/bench.py

bench-scale: build-python ## time, peak memory and rounds by rows (ROWS="1e5 1e6 1e7"), a real memory limit, workers
	cargo build --release --quiet -p properloss-cli
	$(PY) bench/scale/run.py --rows $(or $(ROWS),1e5 1e6 1e7)
	$(PY) bench/scale/limit.py
	$(PY) bench/scale/workers.py

bench-onnx: build-python ## exported graphs against a plain sigmoid graph on onnxruntime, one thread
	$(PY) bench/onnx/bench.py

quality: build-python ## the default estimator against calibrated logistic regression (an hour)
	$(PIP) install -r bench/quality/requirements.txt
	$(PY) bench/quality/run.py --profile full --out target/quality
	mkdir -p docs/quality && cp target/quality/report.md target/quality/differences.svg docs/quality/
	$(PY) bench/quality/wide.py --profile full

quality-summary: ## the study in short, from its report: held-out first, medians, corrected variances
	$(PIP) install -r bench/quality/requirements.txt
	$(PY) bench/quality/summary.py

quality-ablation: build-python ## what the parts of the default are worth (ten minutes)
	$(PIP) install -r bench/quality/requirements.txt
	$(PY) bench/quality/ablation.py

quality-time: build-python ## CPU time of the default estimator beside scikit-learn's, one thread each
	cargo build --release --quiet -p properloss-cli
	$(PY) bench/quality/timing.py

quality-multiclass: build-python ## several classes against the peers, 12 splits (hours; PROFILE=short: 40 minutes)
	$(PIP) install -r bench/quality/requirements.txt
	$(PY) bench/multiclass/run.py --profile $(or $(PROFILE),full) --out target/multiclass

time-multiclass: build-python ## seconds of several classes beside LogisticRegressionCV's, one thread each
	$(PY) bench/multiclass/timing.py --growth $(if $(IMAGES),--images)

reproduce: build-python ## the paper's experiments, into docs/reproduction.md (FULL=1: all seeds)
	$(PY) experiments/reproduce.py $(if $(FULL),--full) $(if $(DATA),--data $(DATA)) $(if $(JOBS),--jobs $(JOBS))

study-learners: build-python ## boosters with and without calibration (10 minutes; FULL=1: 12 splits, hours)
	$(PIP) install -r bench/learners/requirements.txt
	$(PY) bench/learners/run.py --profile $(if $(FULL),full,small) $(if $(JOBS),--processes $(JOBS))

certificate-coverage: ## does the calibration certificate hold, and how tight is it (10 minutes)
	cargo build --release --quiet -p properloss-data --example certificate_coverage
	RAYON_NUM_THREADS=1 nice target/release/examples/certificate_coverage

bench-certified: ## a certified iteration against a plain one, in one run
	cargo run --release --quiet -p properloss-data --example certified_cost

TOOLS := target/release-tools
$(TOOLS)/.installed: release/requirements.txt
	$(PYTHON) -m venv $(TOOLS)
	$(TOOLS)/bin/python -m pip --disable-pip-version-check --quiet install -r release/requirements.txt
	touch $@

dist: $(TOOLS)/.installed ## wheels, source distribution, crates, command archives, bill of materials: below target/dist/
	$(TOOLS)/bin/python release/dist.py $(if $(MACHINES),--targets $(MACHINES))

test-dist: $(TOOLS)/.installed ## what `make dist` made, installed and used where nothing else is (CHECKS=... some of it)
	$(TOOLS)/bin/python release/test_dist.py $(CHECKS)

version: ## the one version number; V=0.2.0 sets it
	$(PYTHON) release/version.py $(V)

public-api: doc ## the listing of the core's public interface, written anew
	$(PYTHON) release/public_api.py --write

test-api: doc ## the core's public interface is the listed one; the version number is one
	$(PYTHON) release/public_api.py
	$(PYTHON) release/version.py

MSRV = $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
test-msrv: ## compiles on the oldest supported compiler, which it installs with rustup
	rustup toolchain install $(MSRV) --profile minimal --no-self-update
	CARGO_TARGET_DIR=target/msrv cargo +$(MSRV) check --locked --workspace --all-features
	rm -rf target/msrv

dependency-costs: ## processor seconds and bytes of every dependency, for docs/dependencies.md (minutes)
	$(PYTHON) release/costs.py

semver: ## breaking changes of the public crates since the last tag (installs cargo-semver-checks: minutes)
	release/semver.sh

docs: build-python doc ## the documentation site, below target/docs/ (guide, gallery, reference); warnings and dead links fail
	$(PIP) install -r docs/site/requirements.txt
	$(PY) docs/site/build.py

doc: ## the Rust documentation, below target/doc/
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --quiet

fmt: ## format the Rust code
	cargo fmt --all

fuzz: ## the slow property tests (tens of minutes)
	PROPERLOSS_PROFILE=fuzz cargo test --release --workspace

.PHONY: fuzz-inputs kill-campaign mutants deny test-aarch64
MINUTES ?= 5
fuzz-inputs: ## damaged and invented files against all readers (MINUTES=5; TARGETS="csv model")
	cargo build --release --quiet -p fuzz-inputs
	target/release/fuzz-inputs --minutes $(MINUTES) --seed $$RANDOM$$RANDOM $(TARGETS)

N ?= 1000
kill-campaign: ## kills commands that write, N times, and looks at what they leave
	cargo build --release --quiet -p properloss-cli
	$(PYTHON) bench/faults/kills.py --kills $(N)

mutants: $(VENV)/.installed ## does a test notice when the code is wrong? SAMPLE=600 SEED=1 JOBS=2 (needs cargo-mutants)
	$(PIP) install tree-sitter==0.26.0 tree-sitter-rust==0.24.2
	$(PY) bench/mutants/run.py --sample $(or $(SAMPLE),600) --seed $(or $(SEED),1) --jobs $(or $(JOBS),1)

AARCH64 := aarch64-unknown-linux-gnu
test-aarch64: ## tests of core, readers and golden models on aarch64 (needs qemu-user and gcc-aarch64-linux-gnu)
	rustup target add $(AARCH64)
	CARGO_TARGET_DIR=target/aarch64 CC_aarch64_unknown_linux_gnu=aarch64-linux-gnu-gcc \
	CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc \
	CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64 -L /usr/aarch64-linux-gnu" \
	PROPERLOSS_EMULATOR="qemu-aarch64 -L /usr/aarch64-linux-gnu" sh -c '\
	cargo test --target $(AARCH64) -p properloss -p properloss-data && \
	cargo test --target $(AARCH64) -p properloss-cli --test golden'

deny: ## licences, sources and duplicates of the dependencies (needs cargo-deny)
	cargo deny --offline check licenses sources bans

clean: ## remove everything that was built or installed
	rm -rf target $(VENV) $(OLDEST)
