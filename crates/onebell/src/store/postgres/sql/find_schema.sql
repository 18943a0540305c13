-- find_schema: whether there is a schema to read the version from
SELECT to_regclass('onebell.schema') IS NOT NULL AS found
