# shellcheck shell=bash
# What fetch-kernels and make-rootfs share: the cache, its lock, and an apt that leaves the host's own state alone.
# Sourced with `set -euo pipefail` in force; progress goes to stderr, because stdout carries the results.

vm_cache=${BELLJAR_VM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/belljar-tests}

# mke2fs, debootstrap and depmod, which an ordinary user's PATH may lack.
PATH=$PATH:/usr/sbin:/sbin

vm_say() {
        printf 'vm: %s\n' "$*" >&2
}

vm_die() {
        vm_say "$*"
        exit 1
}

# Names the packages to install instead of failing halfway with "command not found".
vm_need() {
        local tool missing=()
        for tool in "$@"; do
                command -v "$tool" >/dev/null || missing+=("$tool")
        done
        ((${#missing[@]} == 0)) || vm_die "missing programs: ${missing[*]}" \
                "(fix: apt-get install apt e2fsprogs debootstrap xz-utils gcc libc6-dev qemu-system-x86 python3)"
}

# A cache of an ordinary user stays that user's when root fills it.
vm_own() {
        [[ $(id -u) != 0 ]] || chown -R --reference="$vm_cache" "$@"
}

# vm_lock NAME: held on fd 9 until the script ends; programs that might outlive it are started with 9>&-.
vm_lock() {
        mkdir -p "$vm_cache"
        [[ -e $vm_cache/$1.lock ]] || : >"$vm_cache/$1.lock"
        vm_own "$vm_cache/$1.lock"
        # For reading: a cache that root filled serves others too.
        exec 9<"$vm_cache/$1.lock"
        if ! flock -n 9; then
                vm_say "another run is filling the cache ($1), waiting"
                flock 9
        fi
}

# Folders under the cache's tmp/ are made only under a lock of the same name, so whatever an interrupted run left there
# is dead and goes first.
vm_tmpdir() {
        rm -rf "$vm_cache/tmp/$1"
        mkdir -p "$vm_cache/tmp/$1"
        vm_own "$vm_cache/tmp" "$vm_cache/tmp/$1"
        printf '%s\n' "$vm_cache/tmp/$1"
}

# A namespace that was just killed may still write for a moment.
vm_rmtmp() {
        local n
        for n in 1 2 3 4 5; do
                rm -rf "$vm_cache/tmp/$1" 2>/dev/null && return
                sleep "0.$n"
        done
}

# The archive that the host's own apt uses, so that nothing here names a mirror. ORIGIN and RELEASE come from the
# signed Release files where the host has fetched them, else from what its sources say. vm_mirror Debian|Debian-Security
vm_mirror() {
        local want=$1 uri release label format
        # shellcheck disable=SC2016 # apt fills these in
        format='$(REPO_URI)|$(RELEASE)|$(LABEL)'
        if [[ -n ${BELLJAR_VM_MIRROR:-} && $want == Debian ]]; then
                printf '%s\n' "$BELLJAR_VM_MIRROR"
                return
        fi
        while IFS='|' read -r uri release label; do
                case $want in
                Debian)
                        [[ $label == Debian || ($label == *LABEL* && $uri == */debian/) ]] || continue
                        ;;
                *)
                        [[ $label == "$want" || ($label == *LABEL* && $release == *-security) ]] || continue
                        ;;
                esac
                printf '%s\n' "$uri"
                return
        done < <(apt-get indextargets --format "$format" 'Created-By: Packages' 'Component: main')
        [[ $want != Debian ]] || vm_die "this machine's apt has no Debian archive (fix: BELLJAR_VM_MIRROR=URL of one)"
}

# vm_apt_init FOLDER SUITE...: an apt with its own sources, lists and cache. A suite that the mirror has dropped is not
# an error yet: whoever needs a package from it says what is missing.
vm_apt_init() {
        local dir=$1 suite mirror security signed=
        shift
        mirror=$(vm_mirror Debian)
        security=$(vm_mirror Debian-Security)
        [[ ! -e /usr/share/keyrings/debian-archive-keyring.gpg ]] ||
                signed='signed-by=/usr/share/keyrings/debian-archive-keyring.gpg '
        mkdir -p "$dir/lists/partial" "$dir/cache/archives/partial"
        for suite in "$@"; do
                if [[ $suite != *-security ]]; then
                        echo "deb [${signed}arch=$vm_arch] $mirror $suite main"
                elif [[ -n $security ]]; then
                        echo "deb [${signed}arch=$vm_arch] $security $suite main"
                fi
        done >"$dir/sources.list"
        vm_apt_options=(-q -o "Dir::Etc::sourcelist=$dir/sources.list" -o Dir::Etc::sourceparts=/dev/null
                -o Dir::Etc::preferencesparts=/dev/null -o "Dir::State::Lists=$dir/lists" -o "Dir::Cache=$dir/cache"
                -o APT::Sandbox::User=root -o Acquire::Languages=none)
        # apt succeeds although it could not reach a mirror, and only warns.
        apt-get "${vm_apt_options[@]}" update >"$dir/update.log" 2>&1 9>&- || true
        grep -E '^(E|W): ' "$dir/update.log" | sed 's/^/vm: apt-get update: /' >&2 || true
}

vm_arch=$(dpkg --print-architecture 2>/dev/null) || vm_die "dpkg is needed: the guests are Debian"
[[ $vm_arch == amd64 ]] || vm_die "only amd64 hosts are supported so far, this one is $vm_arch"
