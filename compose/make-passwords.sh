#!/bin/sh
# Makes the passwords of an installation once, into a volume that its containers share: postgres, neo4j, key (what
# clients show). One that the environment gives is taken at the first start; what is there stays.
set -eu
made=${PASSWORDS:-/run/kataribe}

make() {
  [ -e "$made/$1" ] && return
  printf '%s' "${2:-$(od -An -vtx1 -N24 /dev/urandom | tr -d ' \n')}" >"$made/.$1"
  chmod 0444 "$made/.$1" # every container has a user of its own
  mv "$made/.$1" "$made/$1"
}

make postgres "${POSTGRES_PASSWORD:-}"
make neo4j "${NEO4J_PASSWORD:-}"
make key "${KATARIBE_API_KEY:-}"
