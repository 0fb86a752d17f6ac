# A thin face for meson and the scripts; `make help` lists what there is.

PREFIX ?= /usr/local
DESTDIR ?=
BUILD ?= build
# as `make FUZZ_TIME=60 fuzz`, `make ONLY=lint,unit test`, `make SHORT=1 test-vm`
FUZZ_TIME ?= 60
ONLY ?=
SHORT ?=

all: $(BUILD)/build.ninja
	ninja -C $(BUILD)

$(BUILD)/build.ninja:
	tools/deps --check build
	meson setup $(BUILD) --prefix=$(PREFIX)

# meson keeps the prefix of the last time; the one that is asked for now counts.
install: all
	meson configure $(BUILD) -Dprefix=$(PREFIX)
	ninja -C $(BUILD)
	DESTDIR=$(DESTDIR) meson install -C $(BUILD) --no-rebuild --quiet

try:
	tools/deps build try
	$(MAKE) all
	@test -x tools/try || { echo "make: tools/try is not there" >&2; exit 1; }
	tools/try

test:
	tools/deps test
	/usr/bin/python3 tests/suite $(if $(ONLY),--only $(ONLY))

test-vm:
	tools/deps build vm
	/usr/bin/python3 tests/suite-vm $(if $(SHORT),--short)

lint:
	tools/deps lint
	/usr/bin/python3 tests/suite --only lint

bench:
	tools/deps build bench
	$(MAKE) all
	@test -x bench/run || { echo "make: bench/run is not there" >&2; exit 1; }
	bench/run

fuzz:
	tools/deps fuzz
	tools/fuzz $(FUZZ_TIME)

deps:
	tools/deps build test try vm bench

clean:
	rm -rf $(BUILD)

help:
	@echo "make                build into $(BUILD)/"
	@echo "make install        install beneath PREFIX ($(PREFIX)), with DESTDIR"
	@echo "make try            the demonstration"
	@echo "make test           the whole suite, as root and as an ordinary user; ONLY=STEP,... for a part"
	@echo "make test-vm        the suite on stock kernels under QEMU; SHORT=1 for a part"
	@echo "make lint           clang-tidy, cppcheck, shellcheck, layers and rules of the tree"
	@echo "make fuzz           each fuzz target for FUZZ_TIME seconds ($(FUZZ_TIME))"
	@echo "make bench          side by side with other sandboxes"
	@echo "make deps           name or, as root, install the Debian packages for all of these"

.PHONY: all install try test test-vm lint bench fuzz deps clean help
