-- read_cancelling_steps: what a replica runs whose run is being cancelled
SELECT s.step_id
FROM onebell.job_steps s
JOIN onebell.runs r ON r.run_id = s.run_id
WHERE s.locked_by = $1 AND s.complete_by IS NOT NULL AND r.status = 'cancelling'
ORDER BY s.step_id
