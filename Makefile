# Every verb is carried out by bootstrap.py, which sets up .venv on first use. `make` alone lists them.
PYTHON ?= python3

.DEFAULT_GOAL := help
.PHONY: help demo test check bench docs look gallery clean

help:
	@echo "make demo    mask, attack, measure and compare the built-in data; writes demo/ afresh, with its report.html"
	@echo "make test    style, types and every test that is not marked slow"
	@echo "make check   the same, slow tests included"
	@echo "make bench   measure what the speed claims rest on"
	@echo "make docs    write docs/reference/ again from the methods' own fields"
	@echo "make look    pictures and PDFs of reports of few and many releases, sub-groups and columns, and of the demo's, in look/"
	@echo "make gallery make the three reports in docs/gallery/ again from built-in data"
	@echo "make clean   remove .venv, caches, demo/ and look/"

demo test check bench docs look gallery clean:
	@$(PYTHON) bootstrap.py $@
