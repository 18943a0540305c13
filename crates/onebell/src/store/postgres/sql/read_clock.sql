-- read_clock: the store's now
SELECT coalesce($1::timestamptz, clock_timestamp()) AS now
