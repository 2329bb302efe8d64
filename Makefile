# Every target runs through npm, which puts the Node 24 of node_modules first on PATH.
export npm_config_update_notifier = false
# The shell of a recipe becomes npm, which passes signals on.
run = exec npm run --silent

.PHONY: help dev test test-times verify faults walks search check format bench soak fuzz mutants defects build chart image kind life-cycle pods

help: ## print this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

dev: node_modules/.package-lock.json ## start a cluster with Latchkey and its samples, until Ctrl-C: CONNECTED=1 adds a connected cluster, ISSUERS=<file> issuers of tokens
	@CONNECTED=$(CONNECTED) ISSUERS=$(ISSUERS) $(run) dev

test: check ## run every behaviour once, on a real control plane: VITEST_FLAGS=<flags>
	@$(run) test -- $(VITEST_FLAGS)

test-times: node_modules/.package-lock.json ## measure make test by project: time, processor time, the slowest files
	@$(run) test-times

verify: node_modules/.package-lock.json ## run what needs real time, repetition or a second form: PARTS=crash,faults,..., SEED=<number>
	@PARTS=$(PARTS) SEED=$(SEED) $(run) verify

faults: node_modules/.package-lock.json ## inject every fault at every write: SEED=<number> repeats a run
	@$(run) faults -- $(FAULTS_FLAGS)

walks: node_modules/.package-lock.json ## run random sequences of edits: SEED=<number> WALKS=<number>
	@SEED=$(SEED) WALKS=$(WALKS) $(run) walks -- $(WALKS_FLAGS)

search: node_modules/.package-lock.json ## search all orders of small worlds, breadth first: STATES=<number>, WORLD=<text>
	@STATES=$(STATES) WORLD=$(WORLD) $(run) search

check: node_modules/.package-lock.json ## check format, types and lint
	@$(run) check

format: node_modules/.package-lock.json ## format source, docs and manifests
	@$(run) format

bench: node_modules/.package-lock.json ## measure speed and size: SIZE=tiny|small|full, PARTS=fan-out,placeholders,followed,latency,newcomer,mint,start,memory,resident,metrics,keys,reviews,sizes,gateway,fronts,direct,clusters,replicators,cli,admission,revocation, JSON=<file>
	@SIZE=$(SIZE) PARTS=$(PARTS) JSON=$(JSON) $(run) bench

soak: node_modules/.package-lock.json ## run half an hour of changes and broken watches: MINUTES=<number>, SEED=<number>, JSON=<file>
	@MINUTES=$(MINUTES) SEED=$(SEED) JSON=$(JSON) $(run) soak

fuzz: node_modules/.package-lock.json ## feed random input to the code that reads untrusted data: MINUTES=<number>, SEED=<number>, TARGET=<text>
	@MINUTES=$(MINUTES) SEED=$(SEED) TARGET=$(TARGET) $(run) fuzz

mutants: node_modules/.package-lock.json ## find small changes of the source that no test detects: ROOMS=scope,domain,kube,..., SAMPLE=<number>, SEED=<number>, SAME_AS=<revision>
	@SAME_AS=$(SAME_AS) ROOMS=$(ROOMS) SAMPLE=$(SAMPLE) SEED=$(SEED) $(run) mutants

defects: node_modules/.package-lock.json ## look for the defects of test/mutants/defects.json: DEFECTS=0,1,...
	@DEFECTS=$(DEFECTS) $(run) defects -- run

chart: node_modules/.package-lock.json ## write the Helm charts to dist/charts, their digests, and the manifests dist/latchkey*.yaml
	@$(run) chart

life-cycle: node_modules/.package-lock.json ## install, upgrade, roll back, uninstall and install the chart again: what stays, and the times
	@$(run) life-cycle

kind: node_modules/.package-lock.json ## create a kind cluster with image, chart and samples, whose API server accepts access keys
	@$(run) kind

# The platforms of a release.
all_platforms = linux-x64 linux-arm64 darwin-x64 darwin-arm64 windows-x64
comma = ,
platforms = $(if $(filter all,$(PLATFORMS)),$(all_platforms),$(subst $(comma), ,$(PLATFORMS)))

build: node_modules/.package-lock.json ## build the bundle of the image, and kubectl latchkey: PLATFORMS=all or linux-x64,linux-arm64,darwin-x64,darwin-arm64,windows-x64
	@npm run --silent build
	@rm -rf dist/kubectl-latchkey*
	@npm run --silent build:cli
	@for platform in $(or $(platforms),$$(npm run --silent platform || echo none)); do \
	  if [ "$$platform" = none ]; then echo "kubectl latchkey is built for Node.js only: bun does not run on this machine"; continue; fi; \
	  npm run --silent build:program -- --target=bun-$$platform --outfile=dist/kubectl-latchkey-$$platform dist/kubectl-latchkey/kubectl-latchkey.mjs >/dev/null || exit 1; \
	done

image: node_modules/.package-lock.json ## write the image as an OCI layout to dist/image, without Docker
	@$(run) image

pods: node_modules/.package-lock.json ## run the image in pods of a real kubelet, and upgrade it under load; needs root and Debian
	@$(run) pods

# npm writes this file last, so it is newer than the lock file only if the installation is complete
# and up to date.
node_modules/.package-lock.json: package-lock.json
	@npm ci --loglevel=error --no-audit --no-fund
	@touch $@
