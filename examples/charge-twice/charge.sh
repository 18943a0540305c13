#!/bin/sh
# Charges three customers. Run again, it charges them again: that is the fault.
set -eu

for customer in 4711 4712 4713; do
    # Here a real job would call the payment provider: curl -X POST https://pay.example.com/charges …
    sleep 0.05
    # What must happen once, told where it happens. Only `onebell chaos` listens.
    onebell probe "charge/$customer/$ONEBELL_RUN_ID"
done
