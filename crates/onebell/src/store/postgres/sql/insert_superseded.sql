-- insert_superseded: results that came too late; they change nothing
INSERT INTO onebell.superseded (step_id, attempt, run_id, replica, at, verdict)
SELECT step_id, attempt, run_id, replica, (SELECT coalesce($1::timestamptz, clock_timestamp())), verdict
FROM unnest($2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[]) AS s (step_id, attempt, run_id, replica, verdict)
ORDER BY step_id, attempt, replica
ON CONFLICT DO NOTHING
