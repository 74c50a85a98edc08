# On a machine with Python 3.11+ and make: `make audit` and `make test` are all you need.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DEV := $(VENV)/.installed-dev
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: audit test check bench soak redteam lock check-lock install-locked advisories sbom install-test docs calibration parity foreign libraries atlas validity clean

audit: $(STAMP)
	$(BIN)/assay audit --out assay-run
	@echo "report: $(CURDIR)/assay-run/report.html"

test: $(DEV)
	$(BIN)/python -m pytest -n 2 --dist loadfile --max-worker-restart 0

check: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict src/assay

bench: $(DEV)
	$(BIN)/python -m bench

# The long tests: 200 draws of every simulated defect, 50 kills, 100,000 fuzz inputs per target, load of the server.
soak: $(DEV)
	$(PIP) --editable '.[dev,fuzz]'
	ASSAY_SOAK=1 $(BIN)/python -m pytest --timeout 0 -n 2 --dist load tests/calibration tests/faults tests/fuzz
	ASSAY_SOAK=1 $(BIN)/python -m pytest --timeout 0 -s tests/security

# Attacks and accidents, one line per row: hostile folders, servers and metrics, kills, memory; loopback only.
redteam: $(DEV)
	$(BIN)/python tests/redteam/run.py

# Every package of this environment by hash, for this platform and Python.
lock: $(VENV)/bin/python
	$(BIN)/python .ci/lock.py

check-lock: $(VENV)/bin/python
	$(BIN)/python .ci/lock.py --check

# Offline with WHEELS=FOLDER, which `pip download --require-hashes -r requirements.lock -d FOLDER` fills.
install-locked: $(VENV)/bin/python
	$(BIN)/python -m pip install --require-hashes $(if $(WHEELS),--no-index --find-links $(WHEELS)) --requirement requirements.lock
	$(BIN)/python -m pip install --no-deps --no-index --no-build-isolation --editable .
	@touch $(STAMP) $(DEV)

# Known vulnerabilities of what is locked; says so where no list of them can be reached.
advisories: $(VENV)/bin/python
	$(PIP) pip-audit
	$(BIN)/python .ci/advisories.py

# The bill of materials of a release, in CycloneDX.
sbom: $(VENV)/bin/python
	$(BIN)/python .ci/sbom.py

# Wheel and sdist, built and tried in a clean environment without extras.
install-test: $(VENV)/bin/python
	$(PIP) build pytest pytest-timeout
	ASSAY_SOAK=1 $(BIN)/python -m pytest -c /dev/null --rootdir . --confcutdir tests/faults -W ignore tests/faults/test_install.py

# Ours against the original packages, each in an environment of its own; writes docs/parity.md.
parity: $(DEV)
	$(BIN)/python tests/parity/compare.py

# Ours against other packages on thousands of made and real texts: how many scores are equal.
foreign: $(DEV)
	$(BIN)/python tests/foreign/run.py

# Objects of other libraries in assay.wrap, with the libraries themselves in environments of their own.
libraries: $(DEV)
	$(BIN)/python tests/foreign/libraries.py

# The site, in site/; needs no network once its packages are installed.
docs: $(DEV)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# Every metric that runs here, measured and packed into the package (hours; can be stopped and started again).
# With PEOPLE=FOLDER of public ratings (docs/human-ratings.md) also how it agrees with people.
atlas: $(DEV)
	$(BIN)/python -m bench.atlas $(if $(PEOPLE),--people $(PEOPLE))
	$(BIN)/python docs/make_atlas.py

# Is the atlas right? Its order beside criteria it had no part in; writes docs/validity.md.
validity: $(DEV)
	$(BIN)/python -m bench.validity

# The simulations of docs/calibration.md, a few minutes on two cores.
calibration: $(DEV)
	$(BIN)/python tests/calibration/page.py

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(STAMP): $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) --editable '.[neural,figures]'
	@touch $@

$(DEV): $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) --editable '.[dev]'
	@touch $(STAMP) $@

clean:
	rm -rf $(VENV) assay-run build dist site
