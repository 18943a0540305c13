-- lock_schema: one migration at a time, until the end of the transaction
SELECT pg_advisory_xact_lock(7955997340962874724)::text AS locked
