-- lock_runs: the run as it stands, under the write lock, and whether a vigil is kept over its job
SELECT r.run_id, r.job_id, r.version, r.status, r.goal, r.reason, r.scheduled_for, r.finish_by,
       EXISTS (SELECT 1 FROM onebell_vigils AS v WHERE v.job_id = r.job_id) AS vigil
FROM onebell_runs AS r
WHERE r.run_id = :run
