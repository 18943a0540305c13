-- settle_messages: message claimed → ready (lose, give-back); message claimed, sending → ready (defer); message claimed, sending → failed (reject); message claimed, sending → sent (accept); message sending → in_doubt (doubt); message in_doubt → sent (proof); message in_doubt → ready (resend); message claimed → dropped (drop-with-run)
UPDATE onebell.outbox o
SET status = m.status, ready_at = m.ready_at, tries = m.tries, note = coalesce(m.note, o.note),
    settled_by = m.settled_by, locked_by = NULL, claimed_at = NULL, complete_by = NULL,
    finished_at = CASE WHEN m.status IN ('sent', 'failed', 'dropped') THEN $1::timestamptz END,
    dropped_by = CASE WHEN m.status = 'dropped' THEN 'run' END,
    changed_at = $1
FROM unnest($2::text[], $3::bigint[], $4::text[], $5::text[], $6::timestamptz[], $7::bigint[], $8::text[], $9::text[])
    AS m (key, attempt, was, status, ready_at, tries, note, settled_by)
WHERE o.key = m.key AND o.attempt = m.attempt AND o.status = m.was
