# `make help` lists the targets.
.DEFAULT_GOAL := help
.PHONY: help run build dist test test-long compat chaos bench screenshots lint clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## start the app with its defaults on http://127.0.0.1:8080
	go run .

build: ## build the binary ./afterimage
	CGO_ENABLED=0 go build -trimpath -o afterimage .

dist: ## build the archives of a release, with checksums, into dist/
	scripts/dist.sh

test: ## all checks and tests on real services; ARGS="./storage -run TestPut" runs only those tests
	scripts/test.sh $(ARGS)

test-long: ## the same with the long tests
	TEST_LONG=1 scripts/test.sh $(ARGS)

compat: ## the contract of the stores on S3 servers of other makers: Ceph RGW, rclone, gofakes3
	scripts/compat.sh $(ARGS)

chaos: ## the long form of the test that kills everything: 5,000 images, 200 kills, about 10 minutes
	TEST_LONG=1 scripts/test.sh . -run '^TestChaos$$' -v

bench: ## measure the archive worker, docs/benchmarks.md; ARGS="-quick" or ARGS="-only archive-16x200k"
	scripts/with-services.sh go run ./bench $(ARGS)

screenshots: ## a picture of every page in both themes and languages, at three widths, into screenshots/
	SCREENSHOTS="$(CURDIR)/screenshots" scripts/test.sh . -run '^TestLooks$$' -v

lint: ## gofmt, go vet and staticcheck
	scripts/lint.sh

clean: ## remove what building and testing made; ./data stays
	rm -rf afterimage dist screenshots
	find . -name '*.test' -type f -delete
	find . -name '*.prof' -type f -delete
