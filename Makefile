# Each target makes and fills .venv if it is not there: Python and make are all that a machine needs.
PYTHON ?= python3
EXTRAS ?= dev
BASE ?= HEAD~1
MINUTES ?= 10
KILLS ?= 200
SERVED ?= AIOLI
THREADS ?= 4
BIN := .venv/bin
comma := ,

.PHONY: demo games test thorough contracts check attack kills licences lock bench unchanged beside figures quality paper docs clean

demo: .venv/.dev
	$(BIN)/aioli demo

test: .venv/.dev
	$(BIN)/pytest --numprocesses=auto

# the same tests with all of their examples, of which `make test` tries a fixed part
thorough: .venv/.dev
	AIOLI_THOROUGH=1 $(BIN)/pytest --numprocesses=auto --timeout=1800

# every learner through every property that it promises, as a table
contracts: .venv/.dev
	PYTHONPATH=tests $(BIN)/python -m contracts

check: .venv/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest --doctest-modules --doctest-glob='*.md' src README.md docs

# certificates, damaged files, failing writes and kills for MINUTES; goes on where the last attack ended (attack.json)
attack: .venv/.dev
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 PYTHONPATH=tests $(BIN)/python -m attack --minutes $(MINUTES)

# kill -9 a service under load KILLS times: nothing that it answered may be lost, or learned twice; POSTGRES=1 keeps the
# log in a PostgreSQL server that is started for it (Debian's package); SERVED=Auto THREADS=12 plays rows in runs
kills: .venv/.dev
	$(BIN)/python -m benchmarks.service_kills --kills $(KILLS) --learner $(SERVED) --threads $(THREADS) $(if $(POSTGRES),--postgres)

# the licence of every package that the core needs, and those of EXTRAS
licences: .venv/.dev
	$(BIN)/python .ci/licences.py $(subst $(comma), ,$(EXTRAS))

# the versions of the development environment with the hashes of their files, as pylock.toml (Linux, this Python)
lock: .venv/.dev
	$(BIN)/python -m pip lock --quiet --only-deps '.[dev]' --output pylock.toml

bench: .venv/.bench
	$(BIN)/python -m benchmarks.speed
	$(BIN)/python -m benchmarks.command

# The working tree beside an earlier commit, BASE: what every learner says, bit for bit; and how fast
unchanged: .venv/.bench
	$(BIN)/python -m benchmarks.unchanged --base $(BASE)

beside: .venv/.bench
	$(BIN)/python -m benchmarks.beside --base $(BASE)

# how much there is to read, and what stands twice in it
figures: .venv/.dev
	$(BIN)/python -m benchmarks.figures --pairs

# STREAMS=folder of CSV or svmlight files; without it, the streams that scikit-learn and River ship. Forests of Python
# take milliseconds a row, so ROWS=5000 makes an evening an hour; a run that is stopped goes on where it was.
quality: .venv/.bench
	$(BIN)/python -m benchmarks.quality --late 500 $(if $(STREAMS),--streams $(STREAMS)) $(if $(ROWS),--rows $(ROWS))
	$(BIN)/python -m benchmarks.classes $(if $(STREAMS),--streams $(STREAMS))
	$(BIN)/python -m benchmarks.delays $(if $(STREAMS),--streams $(STREAMS))

# thousands of games of many classes: regret ≤ certificate ≤ theorem
games: .venv/.dev
	$(BIN)/python -m benchmarks.class_games

paper: .venv/.dev
	$(BIN)/aioli paper

# the site into build/site: offline, every example run, every warning an error, every internal link and anchor checked, and
# looked at in a browser where there is one
docs: .venv/.docs
	OPENBLAS_NUM_THREADS=1 $(BIN)/sphinx-build -q -W --keep-going -b html -d build/doctrees docs build/site
	$(BIN)/python docs/_ext/check_site.py build/site
	$(BIN)/python docs/_ext/check_notebooks.py examples docs/gallery
	$(BIN)/python docs/_ext/browse_site.py build/site build/site_pictures
	$(BIN)/python docs/_ext/console_blocks.py README.md docs
	$(BIN)/python docs/_ext/device_blocks.py docs/gpu.md
	$(BIN)/python -W ignore docs/_ext/study_commands.py README.md CONTRIBUTING.md docs

clean:
	rm -rf .venv build demo dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/.dev: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "aioli needs Python 3.11 or newer: make PYTHON=python3.12 …")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[$(EXTRAS)]'
	touch $@

.venv/.bench: .venv/.dev
	$(BIN)/python -m pip install --quiet --editable '.[$(EXTRAS),bench]'
	touch $@

.venv/.docs: .venv/.dev
	$(BIN)/python -m pip install --quiet --editable '.[$(EXTRAS),docs]'
	touch $@
