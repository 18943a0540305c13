-- read_run_steps: the steps of runs, open ones and done ones (the newest final row of the history);
-- and whether work of one that did not succeed is committed
-- OFFSET 0 keeps each look a walk over an index: without statistics a join would read the tables whole.
SELECT s.run_id, s.step_id, s.name, s.status, s.after::text AS after, s.rank, s.undoable, s.attempt, true AS open,
    CASE WHEN s.status IN ('held', 'failed', 'exhausted', 'pending')
         THEN EXISTS (SELECT FROM onebell.attempts d WHERE d.step_id = s.step_id AND d.outcome = 'delivering' OFFSET 0)
         ELSE false END AS delivered
FROM unnest($1::text[]) AS r (run_id)
CROSS JOIN LATERAL (SELECT * FROM onebell.job_steps o WHERE o.run_id = r.run_id OFFSET 0) s
UNION ALL
SELECT a.run_id, a.step_id, a.name, a.final, a.after::text, a.rank, a.undoable, a.attempt, false,
    CASE WHEN a.final = 'cancelled'
         THEN EXISTS (SELECT FROM onebell.attempts d WHERE d.step_id = a.step_id AND d.outcome = 'delivering' OFFSET 0)
         ELSE false END
FROM unnest($1::text[]) AS r (run_id)
CROSS JOIN LATERAL (
    SELECT DISTINCT ON (h.step_id) h.run_id, h.step_id, h.name, h.final, h.after, h.rank, h.undoable, h.attempt
    FROM onebell.attempts h
    WHERE h.run_id = r.run_id AND h.final IS NOT NULL
    ORDER BY h.step_id, h.attempt DESC
    OFFSET 0
) a
