# Every task of the book. `make` lists them.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# What building needs; and the rest, with PyTorch, which the tests and the notebooks need.
BUILDER := $(VENV)/builder
INSTALLED := $(VENV)/installed
PEERS := .venv-peers
SITE := _build/html
# The book in another language: its sources are written here, and its site goes below the English one.
# Only `make book LANGUAGE=zh_CN` counts: many systems set a variable of this name for their messages.
ifneq ($(origin LANGUAGE),command line)
LANGUAGE :=
endif
unexport LANGUAGE
TRANSLATED := _build/$(LANGUAGE)
PIP := --quiet --disable-pip-version-check
# The pip that comes with Python 3.11 takes twice as long.
PIP_VERSION := 26.3
NB ?=
PAGE ?=
ARGUMENTS ?=
RENEW ?=
FIX ?=
SEEDS ?= 8
SOURCES ?=
RUNNABLE ?=
# Where Python may not keep what it has compiled, each of a hundred processes compiles it again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help
help:  ## Print this list
	@echo "From Attention to RoPE"
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' \
	  | awk -F '\t' '{ printf "  make %-16s %s\n", $$1, $$2 }'

# The virtual environment in two stages, each made anew only when a pin changed.
$(BUILDER): requirements-book.txt
	@command -v $(PYTHON) >/dev/null 2>&1 || \
	  { echo "Python is missing: install Python 3.11 or newer, or say which one: make PYTHON=..."; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed, found $$($(PYTHON) -V 2>&1); say which one: make PYTHON=..."; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	  { echo "Python's venv module is missing: install it (Debian and Ubuntu: apt install python3-venv)"; exit 1; }
	@echo "Installing what building needs into $(VENV) (once; half a minute) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install $(PIP) pip==$(PIP_VERSION)
	@$(BIN)/python -m pip install $(PIP) --no-compile -r requirements-book.txt
	@touch $@

$(INSTALLED): requirements.txt pyproject.toml $(BUILDER)
	@echo "Installing PyTorch and everything else into $(VENV) (once; a few minutes) ..."
	@$(BIN)/python -m pip install $(PIP) --no-compile -r requirements.txt -r requirements-book.txt
	@# Where it is installed, every process that reads a notebook imports it, for 2 s, and uses it for nothing.
	@$(BIN)/python -m pip uninstall $(PIP) --yes rfc3987-syntax
	@# pip compiles one module after the other, also what nothing here imports: a minute on one core.
	@# Some packages hold templates that are no Python: what does not compile is told by who imports it.
	@$(BIN)/python -m compileall -qq -j 0 -x '/(tests|testing|debugpy|mypyc?|setuptools)/' $(VENV)/lib || true
	@touch $@

# English pages lead to the Chinese ones where these are built.
OTHER_LANGUAGE = $(if $(LANGUAGE),,$(if $(wildcard $(SITE)/zh/index.html),BOOK_LANGUAGES=zh))
.PHONY: book
book: $(BUILDER)  ## Build the site; ARGUMENTS=--all: all anew; RUNNABLE=yes: its NumPy listings run in the page
	$(if $(LANGUAGE),@$(BIN)/python -m booksite.translation sources --language $(LANGUAGE))
	$(if $(RUNNABLE),BOOK_RUNNABLE=yes) $(OTHER_LANGUAGE) $(BIN)/jupyter-book build $(if $(LANGUAGE),$(TRANSLATED),.) -q $(ARGUMENTS)
	$(if $(LANGUAGE),@rm -rf $(SITE)/zh && mkdir -p $(SITE) && cp -r $(TRANSLATED)/$(SITE) $(SITE)/zh)
	@# English pages that were built before this one existed get their links to it.
	$(if $(LANGUAGE),@test ! -f $(SITE)/index.html || grep -q 'hreflang="zh-CN"' $(SITE)/index.html || \
	  $(MAKE) --no-print-directory book LANGUAGE=)
	@echo
	@echo "The book is built. Open $(SITE)/index.html, or write the model in the page: make workshop"

PORT ?= 8000
.PHONY: workshop
workshop: $(BUILDER)  ## Build the site with the workshop in the page, serve it, print its address (PORT=8000)
	@$(MAKE) --no-print-directory book RUNNABLE=yes
	@echo "The workshop: http://127.0.0.1:$(PORT)/chapters/workshop/begin.html (Ctrl+C ends it)"
	@$(BIN)/python -m http.server --bind 127.0.0.1 --directory $(SITE) $(PORT)

# What pyproject.toml leaves out of a plain run of pytest, without what needs a browser or the site.
WITH_SLOW := -m 'not (browser or built)'
.PHONY: test
test: $(INSTALLED)  ## Run the tests that an author needs: library, formulas, notebooks, rules
	$(BIN)/python -m pytest $(ARGUMENTS)

# One part, and how long it took.
TIMED = @+started=$$(date +%s); $(MAKE) --no-print-directory $(1) && \
  printf '== %5s s  make %s\n' "$$(($$(date +%s) - started))" $(firstword $(1))
# What holds with rounding noise holds without it, so the notebooks run once.
.PHONY: test-all
test-all: $(INSTALLED)  ## Run every test that needs no browser: also slow ones, rounding noise, misprints, peers
	$(call TIMED,coverage)
	$(call TIMED,test ARGUMENTS="$(WITH_SLOW) --noise 1 --ignore=tests/attention_to_rope --ignore=tests/one_file --ignore=tests/read_model")
	$(call TIMED,misprints)
	$(call TIMED,test-peers)

.PHONY: check
check: $(INSTALLED)  ## Check one page, or some: notebook, formulas, numbers, misprints (PAGE=relative-positions)
	@$(BIN)/python -m bookcheck.page $(PAGE)

.PHONY: test-noise
test-noise: $(INSTALLED)  ## Run all checks and chapters with rounding noise; nothing may change (SEEDS=1: once)
	NOISE_SEEDS=$(SEEDS) $(BIN)/python -m pytest $(WITH_SLOW) tests/bookcheck/equations/test_noise.py
	for seed in $$(seq $(SEEDS)); do \
	  $(BIN)/python -m pytest --noise $$seed $(if $(NB),chapters/$(NB).ipynb,chapters) || exit 1; done

.PHONY: test-site
test-site: $(INSTALLED)  ## Open every built page in a browser and inspect it (RENEW=yes: new pictures)
	@test -f $(SITE)/index.html || { echo "The site is not built yet; run: make book"; exit 1; }
	$(BIN)/python -m pytest tests/booksite -m 'browser or built' --dist loadgroup $(if $(RENEW),--renew) $(ARGUMENTS)

.PHONY: misprints
misprints: $(INSTALLED)  ## Plant misprints in every executed formula; the checks must refute them
	$(BIN)/python -m bookcheck.equations.mutate $(ARGUMENTS)

.PHONY: downloads
downloads: $(INSTALLED)  ## Print the built site as a PDF, pack it into a zip file, and offer both on its opening page
	@test -f $(SITE)/$(if $(LANGUAGE),zh/)index.html || \
	  { echo "The site is not built yet; run: make book $(if $(LANGUAGE),LANGUAGE=$(LANGUAGE))"; exit 1; }
	@$(BIN)/python -m booksite.export.downloads $(if $(LANGUAGE),$(SITE)/zh _build/downloads/from-attention-to-rope-zh \
	  $(TRANSLATED),$(SITE) _build/downloads/from-attention-to-rope)

# Other people's libraries, in an environment of their own, which finds torch in the book's.
PLACE := import sysconfig; print(sysconfig.get_path("purelib"))
$(PEERS)/installed: tests/peers/requirements.txt | $(INSTALLED)
	@echo "Installing the peers into $(PEERS) (once; a few minutes) ..."
	@test -x $(PEERS)/bin/python || $(PYTHON) -m venv $(PEERS)
	@$(BIN)/python -c '$(PLACE)' > "$$($(PEERS)/bin/python -c '$(PLACE)')/book.pth"
	@$(PEERS)/bin/python -m pip install $(PIP) pip==$(PIP_VERSION)
	@$(PEERS)/bin/python -m pip install $(PIP) --no-compile -r tests/peers/requirements.txt
	@$(PEERS)/bin/python -m pip install $(PIP) --no-compile --no-deps torchtune==0.6.1
	@touch $@

.PHONY: test-peers
test-peers: $(PEERS)/installed  ## Compare the library with the libraries people use
	$(PEERS)/bin/python -m pytest -c tests/peers/pytest.ini tests/peers

.PHONY: bench
bench: $(PEERS)/installed  ## Measure speed as ratios to floors and peers (minutes; wants a quiet machine)
	PYTHONPATH=src:. $(PEERS)/bin/python -m laboratory.speed.run

.PHONY: coverage
coverage: $(INSTALLED)  ## Run the library's tests; they must reach each of its lines and branches
	@$(BIN)/python -m coverage erase
	$(BIN)/python -m coverage run -m pytest $(WITH_SLOW) tests/attention_to_rope tests/one_file tests/read_model
	@$(BIN)/python -m coverage combine --quiet
	$(BIN)/python -m coverage report --skip-covered

# The reader's notebooks of the site, in English or translated.
NOTEBOOKS := $(SITE)/$(if $(LANGUAGE),zh/)notebooks
$(NOTEBOOKS): $(wildcard chapters/*.ipynb chapters/deeper/*.ipynb locale/$(LANGUAGE)/LC_MESSAGES/chapters/*.po)
	@$(MAKE) book LANGUAGE=$(LANGUAGE)
	@touch $@

# Where readers work: a notebook that is there already is kept as it is.
LAB := lab$(if $(LANGUAGE),/zh)
LAB_FOLDER := $(if $(SOURCES),chapters,$(LAB))
LAB_SETTINGS := $(CURDIR)/src/booksite/export/jupyter
.PHONY: lab
lab: $(INSTALLED) $(if $(SOURCES),,$(NOTEBOOKS))  ## Read and run the book in JupyterLab (SOURCES=yes: the chapters, to write in them; LANGUAGE=zh_CN: in Chinese)
	$(if $(SOURCES),,@mkdir -p $(LAB) && { cp -Rn $(NOTEBOOKS)/. $(LAB) || true; })
	$(if $(SOURCES),,@echo "Notebooks that $(LAB) has are kept as they are; remove one to get it anew.")
	@# JupyterLab shows no figures of a notebook that it does not trust.
	-@$(BIN)/jupyter trust $(LAB_FOLDER)/*.ipynb $(LAB_FOLDER)/deeper/*.ipynb >/dev/null
	@# Containers have no user but root. Readers' notebooks are plain Markdown, without jupyterlab-myst.
	$(if $(LANGUAGE),BOOK_LANGUAGE=$(LANGUAGE)) JUPYTER_CONFIG_PATH="$(if $(SOURCES),,$(LAB_SETTINGS)/readers:)$(LAB_SETTINGS)/all$${JUPYTER_CONFIG_PATH:+:$$JUPYTER_CONFIG_PATH}" \
	  $(BIN)/jupyter lab --allow-root --LabApp.custom_css=True \
	  --ServerApp.tornado_settings="{'static_custom_path': ['$(LAB_SETTINGS)/custom']}" \
	  --ServerApp.root_dir=$(abspath $(LAB_FOLDER)) --LabApp.default_url=/lab/tree/$(if $(SOURCES),short-road,00-short-road).ipynb $(ARGUMENTS)

.PHONY: notebooks
notebooks: $(INSTALLED)  ## Run all chapters again and store their outputs; one: NB=attention
	$(BIN)/python -m pytest --store $(or $(NB:%=chapters/%.ipynb),chapters)

.PHONY: lint
lint: $(INSTALLED)  ## Check format, style, types and imports (FIX=yes: correct what can be corrected)
	$(BIN)/python -m ruff check $(if $(FIX),--fix) .
	$(BIN)/python -m ruff format $(if $(FIX),,--check) .
	$(BIN)/python -m mypy
	$(BIN)/lint-imports --cache-dir _build/imports

COMPILE := $(BIN)/python -m piptools compile --quiet --strip-extras --no-header \
  --no-emit-index-url --no-emit-find-links --no-emit-trusted-host
.PHONY: lock
lock: $(INSTALLED)  ## Resolve requirements.in and requirements-book.in, together
	@sed -i.old '/^-e /d' requirements.txt && rm requirements.txt.old
	$(COMPILE) --output-file requirements.txt requirements.in
	@# A local build of torch names itself 2.13.0+cpu; other machines have no such version.
	@sed -i.old -E 's/^(torch==[0-9.]+)\+cpu$$/\1/' requirements.txt && rm requirements.txt.old
	$(COMPILE) --constraint requirements.txt --output-file requirements-book.txt requirements-book.in
	@printf '\n# the library itself, from this folder\n-e .\n' >> requirements.txt

