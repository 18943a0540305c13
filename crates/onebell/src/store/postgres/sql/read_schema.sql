-- read_schema: the version that the database is at
SELECT max(version) AS version FROM onebell.schema
