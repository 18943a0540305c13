-- count_failures: failures were told, of vigils that are locked
UPDATE onebell.vigils v
SET failures = v.failures + m.count
FROM unnest($1::text[], $2::bigint[]) AS m (job_id, count)
WHERE v.job_id = m.job_id
