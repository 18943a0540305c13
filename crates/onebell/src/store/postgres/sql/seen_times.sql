-- seen_times: how long the succeeded attempts of steps, and succeeded runs as a whole, took: of the newest runs of each job
-- OFFSET 0 keeps each look a walk over an index.
WITH recent AS MATERIALIZED (
    SELECT j.name AS job, r.run_id, r.status, r.started_at, r.finished_at
    FROM (SELECT o.job_id, o.name FROM onebell.jobs o WHERE o.name = ANY($1) ORDER BY o.name LIMIT $2) j
    CROSS JOIN LATERAL (
        (SELECT s.run_id, s.status, s.started_at, s.finished_at FROM onebell.runs s
         WHERE s.job_id = j.job_id AND s.scheduled_for IS NOT NULL ORDER BY s.scheduled_for DESC LIMIT $3)
        UNION ALL
        (SELECT s.run_id, s.status, s.started_at, s.finished_at FROM onebell.runs s
         WHERE s.job_id = j.job_id AND s.scheduled_for IS NULL LIMIT $3)
    ) r
), took AS (
    SELECT r.job, a.name AS step, a.took_us
    FROM recent r
    CROSS JOIN LATERAL (
        SELECT h.name, (extract(epoch FROM h.ended_at - coalesce(h.started_at, h.claimed_at)) * 1000000)::bigint AS took_us
        FROM onebell.attempts h
        WHERE h.run_id = r.run_id AND h.outcome IN ('succeeded', 'delivering') AND h.claimed_at IS NOT NULL
        OFFSET 0
    ) a
    UNION ALL
    SELECT r.job, NULL, (extract(epoch FROM r.finished_at - r.started_at) * 1000000)::bigint
    FROM recent r
    WHERE r.status = 'succeeded' AND r.started_at IS NOT NULL
), placed AS (
    SELECT job, step, greatest(took_us, 0) AS took_us, row_number() OVER (PARTITION BY job, step ORDER BY took_us) AS place,
        count(*) OVER (PARTITION BY job, step) AS number
    FROM took
)
SELECT job, step, max(number) AS number, max(took_us) FILTER (WHERE place = (number + 1) / 2) AS p50_us,
    max(took_us) FILTER (WHERE place = (number * 99 + 99) / 100) AS p99_us, max(took_us) AS longest_us
FROM placed
GROUP BY job, step
ORDER BY job, step
