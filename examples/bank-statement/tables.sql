-- The books that statements are posted to. The same text on SQLite and on PostgreSQL.

CREATE TABLE IF NOT EXISTS bookings (
    account      TEXT NOT NULL,
    entry        TEXT NOT NULL,
    booked_on    TEXT NOT NULL,
    cents        BIGINT NOT NULL,
    counterparty TEXT NOT NULL,
    PRIMARY KEY (account, entry)
);

CREATE TABLE IF NOT EXISTS balances (
    account TEXT PRIMARY KEY,
    cents   BIGINT NOT NULL
);
