# What each does and how long it takes is said as it runs. The second time only what changed is done.

.PHONY: help serve build test setup native screenshots

help: ## these lines
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## */  make \1\t/' | expand -t 22

serve: ## install what is missing, build the page, serve it and print its address
	@scripts/serve

test: ## install what is missing and run every test, the browser's included
	@scripts/test

build: ## install what is missing and build the page into dist/
	@scripts/setup
	@scripts/build-page

native: ## build the program, target/release/tabernetes (about 10 minutes; needs Rust only)
	cargo build --release --workspace --bin tabernetes

screenshots: ## pictures of the page at three sizes, both languages, both themes: make screenshots INTO=folder
	@scripts/setup test
	@scripts/with-path node tests/browser/screenshots.mjs $(INTO)
