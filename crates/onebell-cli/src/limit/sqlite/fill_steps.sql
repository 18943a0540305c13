-- So many steps that may be claimed.
INSERT INTO steps (id) WITH RECURSIVE n (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < ?1) SELECT id FROM n
