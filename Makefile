# bootstrap.py runs every target and sets up .venv on first use. `make` alone lists the targets.
PYTHON ?= python3

.DEFAULT_GOAL := help
FOLDER ?= desk
.PHONY: help desk pictures demo test check bench peers matrix fuzz docs site look gallery sbom dist clean

help:
	@echo "make desk    open the desk in the browser; make desk FOLDER=path/to/your/data for your own files"
	@echo "make demo    mask, attack, measure and compare the built-in data; replaces demo/, see demo/report.html"
	@echo "make test    style, types and all tests that are not marked slow"
	@echo "make check   the same with slow tests"
	@echo "make bench   run the benchmarks behind the speed claims"
	@echo "make peers   install other tools in .peers/ for benchmarks/peers.py"
	@echo "make matrix  make the same releases with other Pythons, libraries, threads and processors, and compare their bits"
	@echo "make fuzz    feed damaged and hostile input to every reader: make fuzz SECONDS=600"
	@echo "make docs    regenerate docs/reference/ from the methods' docstrings and fields"
	@echo "make site    build the site in site/ from docs/, without a network"
	@echo "make look    screenshots and PDFs of reports of all sizes, and of the demo report, in look/"
	@echo "make gallery regenerate the three reports in docs/gallery/, and the picture of the first screen"
	@echo "make sbom    list what the package needs, with versions and licences, and write sbom.json"
	@echo "make dist    build the wheel and the source package, check them, and try the wheel with every Python here"
	@echo "make pictures   take the pictures of the desk in docs/guides/desk/ again"
	@echo "make clean   remove .venv, .peers, .matrix, caches, dist/, demo/ and look/; site/ stays, since it has earlier versions"

desk:
	@$(PYTHON) bootstrap.py desk "$(FOLDER)"

demo test check bench peers matrix docs site look gallery pictures sbom dist clean:
	@$(PYTHON) bootstrap.py $@

fuzz:
	@$(PYTHON) bootstrap.py fuzz $(if $(SECONDS),--seconds $(SECONDS))
