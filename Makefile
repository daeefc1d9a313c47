# make demo            a real Label Studio with a demo project; stays until Ctrl-C
# make demo LABELS=100 the same with a scripted annotator, then ends
# make test            every check and test, the ones against a real Label Studio included
# make install         .venv with the `uherding` command
# make check           linters, types, import directions
# make bench           the speed figures of docs/performance.md: hours on 2 cores, selection goes on where it stopped
# make bench-quality   the comparison of docs/quality.md: over an hour on 2 cores, goes on where it stopped

PYTHON ?= python3
LABELS ?= 0
BIN := .venv/bin
LABEL_STUDIO := .labelstudio/venv/bin/label-studio
PIP_INSTALL := -m pip install --quiet --disable-pip-version-check

.PHONY: demo test unit check install label-studio browser bench bench-quality clean

demo: install label-studio
	@$(BIN)/uherding demo --label-studio $(LABEL_STUDIO) --labels $(LABELS)

test: check label-studio browser
	$(BIN)/pytest --labelstudio=$(LABEL_STUDIO) --hypothesis-profile=ci --cov --cov-report=term:skip-covered

unit: .venv/dev
	$(BIN)/pytest

check: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/bench label-studio
	$(BIN)/python -m benchmarks.selection
	$(BIN)/python -m benchmarks.selection_report
	$(BIN)/python -m benchmarks.round --output benchmarks/results/round.md
	$(BIN)/python -m benchmarks.features --output benchmarks/results/features.md

# One thread for each process: two processes share the two cores.
bench-quality: .venv/bench
	$(BIN)/python -m benchmarks.datasets
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.quality
	$(BIN)/python -m benchmarks.quality_report

install: .venv/installed

label-studio: $(LABEL_STUDIO)

# Debian's Chromium, for the tests of the dashboard; whatever is installed already will do.
browser:
	@command -v chromium || command -v chromium-browser || command -v google-chrome || \
		{ echo "Installing Chromium, which the dashboard's tests need" && apt-get -qq update && \
		apt-get -qq install --yes --no-install-recommends chromium; }

.venv/installed: requirements.txt pyproject.toml
	@echo "Installing uherding-backend into .venv (torch is large: about 2 minutes the first time)"
	@$(PYTHON) -m venv .venv
	@$(BIN)/python $(PIP_INSTALL) -r requirements.txt
	@$(BIN)/python $(PIP_INSTALL) --no-deps --editable .
	@touch $@

.venv/dev: .venv/installed requirements-dev.txt
	@echo "Installing the development tools into .venv"
	@$(BIN)/python $(PIP_INSTALL) -r requirements-dev.txt
	@touch $@

.venv/bench: .venv/dev requirements-bench.txt
	@echo "Installing what the benchmarks compare with into .venv"
	@$(BIN)/python $(PIP_INSTALL) -r requirements-bench.txt
	@touch $@

$(LABEL_STUDIO): requirements-label-studio.txt
	@echo "Installing Label Studio into .labelstudio (about 1 minute the first time)"
	@$(PYTHON) -m venv .labelstudio/venv
	@.labelstudio/venv/bin/python $(PIP_INSTALL) -r requirements-label-studio.txt
	@touch $@

clean:
	rm -rf .demo .labelstudio .venv
