-- read_worked: how long the attempts of runs worked, all together
SELECT r.run_id, coalesce(sum(a.worked_us), 0)::bigint AS worked_us
FROM unnest($1::text[]) AS r (run_id)
CROSS JOIN LATERAL (
    SELECT greatest(extract(epoch FROM h.ended_at - coalesce(h.started_at, h.claimed_at)) * 1000000, 0)::bigint AS worked_us
    FROM onebell.attempts h
    WHERE h.run_id = r.run_id
    OFFSET 0
) a
GROUP BY r.run_id
