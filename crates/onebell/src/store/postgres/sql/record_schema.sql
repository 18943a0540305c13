-- record_schema: the database reached a version
INSERT INTO onebell.schema (version, migrated_at) VALUES ($2, (SELECT coalesce($1::timestamptz, clock_timestamp())))
