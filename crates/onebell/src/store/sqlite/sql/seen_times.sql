-- seen_times: how long the succeeded attempts of steps, and succeeded runs as a whole, took: of the newest runs of each job
WITH chosen AS MATERIALIZED (
    SELECT job_id, name FROM onebell_jobs WHERE name IN (SELECT value FROM json_each(:names)) ORDER BY name LIMIT :jobs
), recent AS MATERIALIZED (
    SELECT j.name AS job, r.run_id, r.status, r.started_at, r.finished_at
    FROM chosen AS j
    CROSS JOIN onebell_runs AS r ON r.run_id IN (
        SELECT s.run_id FROM onebell_runs AS s
        WHERE s.job_id = j.job_id AND s.scheduled_for IS NOT NULL ORDER BY s.scheduled_for DESC LIMIT :runs)
    UNION ALL
    SELECT j.name, r.run_id, r.status, r.started_at, r.finished_at
    FROM chosen AS j
    CROSS JOIN onebell_runs AS r ON r.run_id IN (
        SELECT s.run_id FROM onebell_runs AS s WHERE s.job_id = j.job_id AND s.scheduled_for IS NULL LIMIT :runs)
), took AS (
    SELECT r.job, h.name AS step, max(h.ended_at - coalesce(h.started_at, h.claimed_at), 0) AS took_us
    FROM recent AS r
    CROSS JOIN onebell_attempts AS h ON h.run_id = r.run_id
    WHERE h.outcome IN ('succeeded', 'delivering') AND h.claimed_at IS NOT NULL
    UNION ALL
    SELECT job, NULL, max(finished_at - started_at, 0) FROM recent WHERE status = 'succeeded' AND started_at IS NOT NULL
), placed AS (
    SELECT job, step, took_us, row_number() OVER (PARTITION BY job, step ORDER BY took_us) AS place,
           count(*) OVER (PARTITION BY job, step) AS number
    FROM took
)
SELECT job, step, max(number) AS number, max(took_us) FILTER (WHERE place = (number + 1) / 2) AS p50_us,
       max(took_us) FILTER (WHERE place = (number * 99 + 99) / 100) AS p99_us, max(took_us) AS longest_us
FROM placed
GROUP BY job, step
ORDER BY job, step
