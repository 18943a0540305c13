-- lock_claimant: holds the replica, if it is live, against being declared lost meanwhile; and looks for a step that must run alone
SELECT EXISTS (
    SELECT FROM onebell.job_steps s
    WHERE s.status = 'pending' AND s.alone AND s.ready_at <= (SELECT coalesce($1::timestamptz, clock_timestamp()))
      AND s.job_id = ANY($3) AND s.handler = ANY($4) AND s.queue = ANY($5) AND ($6::text IS NULL OR s.run_id = $6)
      AND EXISTS (SELECT FROM onebell.runs r WHERE r.run_id = s.run_id AND r.status IN ('running', 'undoing'))
) AS alone
FROM onebell.replicas
WHERE replica_id = $2 AND lost_at IS NULL AND left_at IS NULL
FOR SHARE
