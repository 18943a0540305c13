-- find_alone_step: the first pending step that must run alone and that this agent may claim
SELECT s.step_id
FROM onebell_job_steps AS s
CROSS JOIN onebell_runs AS r ON r.run_id = s.run_id
WHERE s.status = 'pending' AND s.alone = 1 AND s.ready_at <= :now
  AND r.status IN ('running', 'undoing')
  AND s.job_id IN (SELECT value FROM json_each(:jobs))
  AND s.handler IN (SELECT value FROM json_each(:handlers))
  AND s.queue IN (SELECT value FROM json_each(:queues))
  AND (:run IS NULL OR s.run_id = :run)
ORDER BY s.priority DESC, s.ready_at, s.step_id
LIMIT 1
