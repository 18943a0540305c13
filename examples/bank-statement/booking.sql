-- Runs for each chunk of records, in the transaction that keeps their identities: `chunk` holds what was never booked, and nothing else.
-- That is why adding to a balance is safe here. `json(…) ->>` is understood by SQLite and by PostgreSQL.

INSERT INTO bookings (account, entry, booked_on, cents, counterparty)
SELECT json(payload) ->> 'account', json(payload) ->> 'entry', json(payload) ->> 'booked_on', amount, json(payload) ->> 'counterparty'
FROM chunk;

INSERT INTO balances (account, cents)
SELECT json(payload) ->> 'account', sum(amount) FROM chunk WHERE 1 = 1 GROUP BY json(payload) ->> 'account'
ON CONFLICT (account) DO UPDATE SET cents = balances.cents + excluded.cents;
