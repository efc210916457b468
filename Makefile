# All there is to learn: demo, test, clients, lint, proto, web, bench, eval, chaos, mutants, models, deploy, images, lock, clean.
# CI calls the same targets.
SHELL := /bin/bash
PYTHON ?= python3
ENVIRONMENT := .venv/services/bin
RUN := $(ENVIRONMENT)/python
INSTALL := $(PYTHON) requirements/install.py

# QUICK=0 means no.
said = $(filter-out 0 no No NO false False FALSE off Off OFF,$(1))

.PHONY: help demo test clients unit lint proto tree proto-check web web-check breaking bench eval chaos mutants models deploy \
  deploy-check images lock clean

help: ## Show the targets.
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## /  make \1\t/' | expand -t 20

# As they were typed: neither make nor the shell may read `$HOME` or a quote in a question as its own.
unexport DOCS QUESTION
demo: export DEMO_DOCS := $(value DOCS)
demo: export DEMO_QUESTION := $(value QUESTION)
demo: ## Set up all it needs and answer questions about a small company handbook: make demo [DOCS=path] [QUESTION="…"].
	@$(INSTALL) services export generate
	@$(RUN) -m sourcier.models fetch $$($(RUN) -m sourcier.services.stack models)
	@$(RUN) demo/run.py $(if $(value DOCS),--documents "$${DEMO_DOCS}") $(if $(value QUESTION),--question "$${DEMO_QUESTION}")

# The suite starts hundreds of processes, and each would compile the services anew.
unexport PYTHONDONTWRITEBYTECODE
test: ## Set up and run every test, real servers and real models included.
	@$(INSTALL) services dev export generate deploy
	@# Without npm's registry there is no browser: the tests of the page are skipped, and say so.
	@$(INSTALL) web || [ $$? -eq 3 ]
	@$(RUN) -m sourcier.models fetch multilingual-e5-small smollm2-135m-instruct whisper-base reader
	@# A lost worker ends the run: its files handed out anew can keep pytest-xdist 3.8 waiting for ever (its issue 1378).
	@# In the order of their names the long files come first (chaos, e2e) and the short ones last (unit): no worker waits.
	@# How many workers `auto` means is in tests/sharing.py; `make test WORKERS=n` says it.
	@$(RUN) -m pytest -n $(or $(WORKERS),auto) --dist loadfile --no-loadscope-reorder --max-worker-restart=0 $(TESTS)

clients: ## Ask the page's service with frameworks as people run them: LangChain, LlamaIndex, llm, MCP's SDK.
	@$(INSTALL) services dev clients
	@$(RUN) -m pytest tests/integration/web/test_framework_clients.py tests/integration/web/test_mcp.py

unit: ## Run the unit tests alone: seconds.
	@$(INSTALL) services dev
	@# Whole files: what they import is imported by one worker, and not by both.
	@$(RUN) -m pytest -n 2 --dist loadfile tests/unit

lint: ## Check style, types, the direction of imports and the contracts.
	@$(INSTALL) services dev
	@$(RUN) -m ruff check .
	@$(RUN) -m mypy sourcier eval bench demo requirements/install.py requirements/stubs.py requirements/tree.py requirements/settings.py
	@$(ENVIRONMENT)/lint-imports
	@$(ENVIRONMENT)/buf lint
	@$(PYTHON) requirements/tree.py --check
	@$(RUN) -m requirements.settings --check

proto: ## Generate the stubs from proto/ into sourcier/.
	@$(INSTALL) proto
	@.venv/proto/bin/python requirements/stubs.py

tree: ## Write the tree of folders and the page of settings.
	@$(INSTALL) services
	@$(PYTHON) requirements/tree.py
	@$(RUN) -m requirements.settings

proto-check: ## Prove that the stubs that are checked in are fresh.
	@$(INSTALL) proto
	@.venv/proto/bin/python requirements/stubs.py --check

web: ## Build the page of web/ into sourcier/services/web/static/.
	@$(INSTALL) proto web
	@$(PYTHON) requirements/page.py

web-check: ## Prove that the page that is checked in is what its sources give.
	@$(INSTALL) proto web
	@$(PYTHON) requirements/page.py --check

# The main branch as it was before, where it is known; else the commit before this one.
# One that is given has to be a commit; that there is none before is no error.
BASE_GIVEN := $(if $(filter undefined,$(origin BASE)),,1)
BASE ?= $(shell git rev-parse -q --verify origin/main | grep -v "$$(git rev-parse HEAD)" || git rev-parse -q --verify HEAD~1)
breaking: export BREAKING_BASE = $(BASE)
breaking: ## Prove that the contracts still serve clients of the commit before: make breaking [BASE=commit].
	$(if $(BASE_GIVEN),@git rev-parse -q --verify "$${BREAKING_BASE}^{commit}" >/dev/null || \
	  { echo "error: BASE=$${BREAKING_BASE} is not a commit" >&2; exit 2; })
	@$(INSTALL) services dev
	@if [ -n "$${BREAKING_BASE}" ] && git cat-file -e "$${BREAKING_BASE}:buf.yaml" 2>/dev/null; \
	  then $(ENVIRONMENT)/buf breaking --against ".git#ref=$${BREAKING_BASE}" && \
	    echo "contracts compatible with $${BREAKING_BASE}"; \
	  else echo "no earlier contracts to compare with"; fi

models: ## Fill the model store: make models [MODELS="name …"].
	@$(INSTALL) services export
	@$(RUN) -m sourcier.models fetch $(or $(MODELS),$$($(RUN) -m sourcier.services.stack models))

eval: ## Measure quality through the running services: make eval [DATA=folder] [QUESTIONS=n], or ONLY=name,… or ONLY=all; LIST=1 shows the names.
	$(if $(and $(ONLY),$(QUESTIONS)),$(error QUESTIONS=$(QUESTIONS) bounds retrieval alone, which is make eval without ONLY; leave one of them out))
	@# Before the minutes of a first set-up: whether the test set that is measured on is here.
	$(if $(DATA)$(ONLY)$(call said,$(LIST)),,@$(PYTHON) -m eval.shared_sets retrieval/piaf-shared)
	@$(INSTALL) services dev export
	@$(RUN) -m sourcier.models fetch multilingual-e5-small
	@$(RUN) -m eval $(if $(call said,$(LIST))$(ONLY),several $(if $(call said,$(LIST)),--list,--only "$(ONLY)" $(if $(DATA),--data-root "$(DATA)") $(if $(call said,$(PUBLISH)),--report)),\
	  retrieval --data "$(or $(DATA),../shared/data/retrieval/piaf-shared)" $(if $(QUESTIONS),--questions $(QUESTIONS)))

bench: ## Measure speed beside peers: make bench [ONLY=name,…] [QUICK=1] [PUBLISH=1]; LIST=1 shows the names.
	@$(INSTALL) services
	@$(RUN) -m bench $(if $(ONLY),--only "$(ONLY)") $(if $(call said,$(QUICK)),--quick) $(if $(call said,$(PUBLISH)),--publish) \
	  $(if $(call said,$(LIST)),--list)

chaos: ## Kill, lose, delay and double, then count: make chaos [DURATION=seconds] [SEED=n] [SCENARIO=name] [EARLIER=tag].
	@$(INSTALL) services dev
	@$(RUN) -m tests.chaos $(if $(SCENARIO),--scenario $(SCENARIO)) $(if $(SEED),--seed $(SEED)) \
	  $(if $(DURATION),--duration $(DURATION)) $(if $(EARLIER),--earlier $(EARLIER))

# With CHANGED, of the lines that a commit lacks, in unit tests alone and for SECONDS_MAX at most: what CI asks for.
mutants: ## Change single lines at random and see which change no test notices: make mutants [N=20] [SEED=1] [ROOM=sourcier/…] [CHANGED=commit] [SECONDS_MAX=s].
	@$(INSTALL) services dev
	@OPENBLAS_NUM_THREADS=1 $(RUN) -m tests.mutants --count $(or $(N),20) --seed $(or $(SEED),1) \
	  $(if $(ROOM),--room "$(ROOM)") $(if $(CHANGED),--changed "$(CHANGED)" --integration-seconds 0 --files 12) \
	  $(if $(SECONDS_MAX),--seconds $(SECONDS_MAX))

deploy: ## Write the dashboards and the renderings of the Kubernetes chart.
	@$(INSTALL) deploy
	@$(PYTHON) deploy/k8s/dashboards.py
	@$(PYTHON) deploy/k8s/render.py

deploy-check: ## Prove that the renderings are fresh; tests/deploy proves that they are valid and keep our rules.
	@$(INSTALL) deploy
	@$(PYTHON) deploy/k8s/dashboards.py --check
	@$(PYTHON) deploy/k8s/render.py --check

images: ## As root: build images on a base of Debian's packages, run them, ask them a question: make images [LARGE=1].
	@$(INSTALL) services dev export generate deploy
	@$(RUN) -m sourcier.models fetch multilingual-e5-small smollm2-135m-instruct whisper-base reader
	@SOURCIER_TEST_IMAGES=$(if $(call said,$(LARGE)),large,small) $(RUN) -m pytest -n 0 -s tests/deploy/test_images_running.py

lock: ## Resolve the lock files again from requirements/*.in.
	@$(INSTALL) services dev
	@$(RUN) requirements/lock.py

clean: ## Remove the environments, the demo's data and what was built; models stay in the model store.
	rm -rf .venv .sourcier build dist *.egg-info
