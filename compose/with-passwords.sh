#!/bin/sh
# Runs a command with the passwords that make-passwords.sh has made, each under the names its readers know.
set -eu
made=${PASSWORDS:-/run/kataribe}

PGPASSWORD=$(cat "$made/postgres")
POSTGRES_PASSWORD=$PGPASSWORD
KATARIBE_MEMORY__NEO4J_PASSWORD=$(cat "$made/neo4j")
NEO4J_AUTH=neo4j/$KATARIBE_MEMORY__NEO4J_PASSWORD
KATARIBE_API_KEY=$(cat "$made/key")
export PGPASSWORD POSTGRES_PASSWORD KATARIBE_MEMORY__NEO4J_PASSWORD NEO4J_AUTH KATARIBE_API_KEY

# Nobody has named a model yet: the people rehearse, and every page says so.
if [ -z "${KATARIBE_LLM__PROVIDER:-}" ] && ! env | grep -Eq '^(OPENAI_API_KEY|KATARIBE_LLM__(.+__)?(BASE_URL|API_KEY))=.'; then
  KATARIBE_LLM__PROVIDER=rehearsal
  export KATARIBE_LLM__PROVIDER
fi

exec "$@"
