#!/bin/sh
# Charges three customers, each once however often it is run: whoever carries out the charge knows the key and refuses the second one.
set -eu

# The provider's memory of keys. A real provider has one of its own; here it is a folder, and mkdir is what refuses the second.
provider=${PROVIDER:-${TMPDIR:-/tmp}/onebell-charge-once}
mkdir -p "$provider"

for customer in 4711 4712 4713; do
    # The same on every attempt, another one for every customer and run:
    # curl -X POST -H "Idempotency-Key: $ONEBELL_IDEMPOTENCY_KEY/$customer" https://pay.example.com/charges …
    sleep 0.05
    if mkdir "$provider/$ONEBELL_IDEMPOTENCY_KEY.$customer" 2>/dev/null; then
        onebell probe "charge/$customer/$ONEBELL_RUN_ID"
    fi
done
