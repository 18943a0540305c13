-- read_cancelling_steps: what a replica runs of runs that are being cancelled
SELECT s.step_id
FROM onebell_job_steps AS s
JOIN onebell_runs AS r ON r.run_id = s.run_id
WHERE s.locked_by = :replica AND r.status = 'cancelling'
ORDER BY s.step_id
