-- list_jobs: jobs for people, with their newest run
SELECT j.job_id, j.name, j.definition, j.version, j.paused_at, j.next_slot, r.run_id AS last_run, r.status AS last_status
FROM onebell_jobs AS j
LEFT JOIN onebell_runs AS r ON r.run_id = (
    SELECT run_id FROM onebell_runs WHERE job_id = j.job_id ORDER BY created_at DESC, scheduled_for DESC, run_id DESC LIMIT 1)
ORDER BY j.name
