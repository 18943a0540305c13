-- fill_chunk: the relation that the user's statements read: all that an atomic batch has just written
INSERT INTO pg_temp.chunk (key, amount, payload, line, byte)
SELECT s.key, s.amount, s.payload, s.line, s.byte
FROM (SELECT s.*, min(s.byte) OVER (PARTITION BY s.key) AS first FROM onebell.staged s WHERE s.batch_id = $2) s
    CROSS JOIN LATERAL (SELECT o.* FROM onebell.effects o WHERE o.scope = $1 AND o.key = s.key OFFSET 0) e
WHERE s.byte = s.first AND e.batch_id = $2 AND e.failed IS NULL
