-- A row for each step: what a claim and its fence need, and nothing else.
DROP TABLE IF EXISTS steps;
CREATE TABLE steps (
    id INTEGER PRIMARY KEY,
    status TEXT NOT NULL DEFAULT 'pending',
    attempt INTEGER NOT NULL DEFAULT 0,
    locked_by TEXT
) STRICT;
