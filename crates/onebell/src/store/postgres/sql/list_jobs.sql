-- list_jobs: all jobs by name, with the newest run of each
SELECT j.job_id, j.name, coalesce(j.definition ->> 'description', '') AS description, j.version, j.paused_at, j.next_slot,
    last.run_id AS last_run, last.status AS last_status
FROM onebell.jobs j
LEFT JOIN LATERAL (
    SELECT newest.run_id, newest.status
    FROM (
        (SELECT r.run_id, r.status, r.created_at FROM onebell.runs r
         WHERE r.job_id = j.job_id AND r.scheduled_for IS NOT NULL ORDER BY r.scheduled_for DESC LIMIT 1)
        UNION ALL
        (SELECT r.run_id, r.status, r.created_at FROM onebell.runs r
         WHERE r.job_id = j.job_id AND r.scheduled_for IS NULL ORDER BY r.created_at DESC LIMIT 1)
    ) newest
    ORDER BY newest.created_at DESC, newest.run_id DESC
    LIMIT 1
) last ON true
ORDER BY j.name
