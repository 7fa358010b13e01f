# What people and CI do with a source tree. Needs python3 (3.11 or later) with its venv module, and nothing else.
# What is installed, once, goes into .venv; a stamp there says which lock file it came from.

PYTHON ?= python3
comma := ,
ROUNDS ?=
PYTEST_ARGS ?=
MUTANTS_ARGS ?=
FUZZ_SECONDS ?= 60
TARGET ?=
BIN := .venv/bin
PROJECT := pyproject.toml
# What decides what a card is must be tested to the last branch: the core and the decoders.
WHOLLY := scannerd/core/*,$(subst $() $(),$(comma),$(patsubst %,drivers/scannerd_drivers/%.py,line line_checks bee_tek \
	angel_eye angel_eye_reports rfid_serial ssi hid_pos hid_keyboard key_sources keymaps))
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check
# The project itself is installed in place, built by the locked build tool rather than by one fetched for the occasion.
INSTALL_SELF := $(INSTALL) --no-deps --no-build-isolation --editable .

.PHONY: help demo test lint types unit goldens fuzz bench mutants deb test-package test-vm lock clean

help: ## what can be made here
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14

demo: .venv/.demo ## play a packaged recording to a broker and show the rounds; ROUNDS=3 ends it
	$(BIN)/scannerd demo $(if $(ROUNDS),--rounds $(ROUNDS))

test: lint types unit ## all that CI looks at

lint: .venv/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/.test
	$(BIN)/mypy

unit: .venv/.test
	$(BIN)/pytest --numprocesses=auto --cov --cov-report=term $(PYTEST_ARGS)
	@$(BIN)/coverage report --include='$(WHOLLY)' --skip-covered --fail-under=100 >/dev/null || \
		{ $(BIN)/coverage report --include='$(WHOLLY)' --skip-covered --show-missing; exit 1; }

goldens: ## what recordings are expected to give, and how that changed since main or the commit before
	@.ci/goldens $(SINCE)

# Built from source atheris would want a compiler of its own: where it has no wheel, nothing is searched for.
fuzz: .venv/.test ## search for inputs that break something, FUZZ_SECONDS=60 in each TARGET; see fuzz/
	@if PIP_ONLY_BINARY=atheris $(MAKE) --no-print-directory .venv/.fuzz; \
	then $(BIN)/python -m fuzz --seconds $(FUZZ_SECONDS) $(TARGET); \
	else echo 'make fuzz: atheris can not be installed here (it has no wheel for this Python or machine): nothing is tried'; fi

bench: .venv/.test ## figures beside a bare loop; see bench/
	$(BIN)/python -m bench

mutants: .venv/.mutants ## change the core in a thousand ways; each must fail a test. Half an hour; see tests/mutants/
	$(BIN)/python -m tests.mutants $(MUTANTS_ARGS)

deb: .venv/.test ## the Debian package, into dist/; REVISION=2 for another one of the same version
	deb/build.sh dist $(REVISION)

test-package: .venv/.test ## install, upgrade and purge the package in a container; needs root and apt, see tests/nspawn/
	$(BIN)/python -m tests.nspawn

test-vm: .venv/.test ## plug real scanners into a virtual machine; needs root and apt, see tests/vm/
	$(BIN)/python -m tests.vm

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "python 3.11 or later is needed")'
	$(PYTHON) -m venv .venv

.venv/.%: requirements/%.txt $(PROJECT) | .venv/bin/python
	$(INSTALL) --require-hashes --requirement $<
	$(INSTALL_SELF)
	@touch $@

RUNTIME = $(BIN)/pip-compile --quiet --no-config --generate-hashes --strip-extras --no-header --no-annotate \
	--no-emit-index-url --no-emit-trusted-host --no-emit-find-links $(PROJECT)
COMPILE = $(RUNTIME) --build-deps-for wheel --build-deps-for editable

lock: .venv/.test ## make the lock files afresh from the bounds in pyproject.toml
	$(INSTALL) pip-tools
	$(COMPILE) --extra test --output-file requirements/test.txt
	$(COMPILE) --extra demo --constraint requirements/test.txt --output-file requirements/demo.txt
	$(COMPILE) --extra fuzz --constraint requirements/test.txt --output-file requirements/fuzz.txt
	$(COMPILE) --extra test --extra mutants --constraint requirements/test.txt --output-file requirements/mutants.txt
	$(RUNTIME) --extra display --extra signing --constraint requirements/test.txt --output-file requirements/table.txt

clean:
	rm -rf .venv .coverage .fuzz .mypy_cache .pytest_cache .ruff_cache .hypothesis dist build
