# Two commands matter: `make run` and `make test`. Everything else is for those who change the code.
# PORT, HOST and every other setting come from the environment or .env (see .env.example).

PYTHON ?= $(or $(shell command -v python3.11),$(shell command -v python3),python3)
VENV_PYTHON = .venv/bin/python
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help run test test-services e2e lint format types imports migrations-check check fonts reset-db \
	install install-dev models python

help:  ## List the commands
	@grep -E '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## /\1|/' | \
	  while IFS='|' read -r name text; do printf '  make %-18s %s\n' "$$name" "$$text"; done

python:
	@command -v $(PYTHON) >/dev/null 2>&1 || \
	  { echo "Set-up stopped: $(PYTHON) is not installed. Install Python 3.11 or newer, or name it: make run PYTHON=/path/to/python3.11." >&2; exit 1; }

run: python  ## Set up what is missing, then start the site (PORT=8001 HOST=0.0.0.0 choose the address)
	@$(PYTHON) scripts/setup.py run

install: python  ## The packages that the site needs, into .venv
	@$(PYTHON) scripts/setup.py install

install-dev: python  ## … and those that the tests need
	@$(PYTHON) scripts/setup.py install --dev

models: install-dev
	@env -u DATABASE_URL -u REDIS_URL $(VENV_PYTHON) manage.py prepare models tokenizers

test: models  ## The whole suite with SQLite and the embedded Valkey (ARGS="-k name" chooses)
	@env -u DATABASE_URL -u REDIS_URL $(VENV_PYTHON) -m pytest $(ARGS)

test-services: models  ## The site's tests on PostgreSQL and Redis (DATABASE_URL and REDIS_URL name them)
	@DATABASE_URL="$${DATABASE_URL:-postgres://postgres@127.0.0.1:5432/prefill}" \
	  REDIS_URL="$${REDIS_URL:-redis://127.0.0.1:6379/15}" \
	  $(VENV_PYTHON) -m pytest tests/interview $(ARGS)

e2e: models  ## The journeys in a real browser
	@$(VENV_PYTHON) -m pytest tests/e2e $(ARGS)

lint: install-dev  ## ruff: rules and format
	@$(VENV_PYTHON) -m ruff check .
	@$(VENV_PYTHON) -m ruff format --check .

format: install-dev  ## Let ruff and djade rewrite what they can
	@$(VENV_PYTHON) -m ruff check --fix .
	@$(VENV_PYTHON) -m ruff format .
	@.venv/bin/djade --target-version 5.2 $$(git ls-files 'templates/*.html') || true

types: install-dev  ## mypy (strict for the engine, formulas, services, selectors and runs)
	@$(VENV_PYTHON) -m mypy engine interview tests scripts manage.py

imports: install-dev  ## import-linter: who may import whom
	@.venv/bin/lint-imports

migrations-check: install-dev  ## Every model change has its migration
	@HTTPS=off $(VENV_PYTHON) manage.py makemigrations --check --dry-run

check: lint types imports migrations-check  ## All of the four above

fonts: install-dev  ## Make the three web fonts from their packages
	@$(VENV_PYTHON) manage.py build_fonts

reset-db:  ## Forget all data of the embedded mode (asks first)
	@printf 'This deletes the database and the queue under var/. Type yes to go on: '; read answer; \
	  [ "$$answer" = yes ] && rm -rf var/prefill.sqlite3* var/valkey && echo 'Deleted.' || echo 'Nothing was deleted.'
