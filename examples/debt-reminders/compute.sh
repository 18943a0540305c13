#!/bin/sh
# Reads customers from $ONEBELL_INPUT and writes those who owe, with fee and period, to $ONEBELL_OUTPUT: one JSON object per line.
# Only awk: it runs wherever a replica runs. Numbers may come as numbers (SQLite) or as strings (PostgreSQL).
set -eu

awk '
    # The JSON text of a field: a string with its quotes, or a bare number.
    function field(name,    rest) {
        if (!match($0, "\"" name "\"[ \t]*:[ \t]*")) {
            printf "line %d of the input has no %s\n", NR, name > "/dev/stderr"
            failed = 1
            exit 65
        }
        rest = substr($0, RSTART + RLENGTH)
        if (match(rest, /^"([^"\\]|\\.)*"/) || match(rest, /^[-0-9.]+/)) return substr(rest, 1, RLENGTH)
        return "null"
    }
    function number(name,    text) {
        text = field(name)
        gsub(/"/, "", text)
        return text + 0
    }
    {
        amount = number("amount_cents")
        if (amount <= 0) next
        fee = int(amount * 2 / 100)
        due = field("due_date")
        printf "{\"customer_id\":%.0f,\"name\":%s,\"email\":%s,", number("customer_id"), field("name"), field("email")
        printf "\"amount_cents\":%.0f,\"fee_cents\":%.0f,\"total_cents\":%.0f,", amount, fee, amount + fee
        printf "\"due_date\":%s,\"period\":\"%s\"}\n", due, substr(due, 2, 7)
        owing++
    }
    END {
        if (!failed) printf "%d of %d customers owe\n", owing, NR > "/dev/stderr"
    }
' "$ONEBELL_INPUT" > "$ONEBELL_OUTPUT"
