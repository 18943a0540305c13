-- move_cursor: planning goes on from here; compared with versions and cursors that were seen
UPDATE onebell.jobs j
SET cursor = m.cursor, next_slot = m.next_slot
FROM unnest($1::text[], $2::timestamptz[], $3::timestamptz[], $4::bigint[], $5::timestamptz[])
    AS m (job_id, cursor, next_slot, version, seen)
WHERE j.job_id = m.job_id AND j.version = m.version AND j.cursor = m.seen
