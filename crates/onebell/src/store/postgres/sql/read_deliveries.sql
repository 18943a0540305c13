-- read_deliveries: how the messages of steps stand
SELECT step_id,
    count(*) FILTER (WHERE status IN ('ready', 'claimed', 'sending') OR (status = 'in_doubt' AND on_in_doubt = 'resend')) AS open,
    count(*) FILTER (WHERE status = 'in_doubt' AND on_in_doubt = 'hold') AS in_doubt,
    count(*) FILTER (WHERE status = 'failed') AS failed
FROM onebell.outbox
WHERE step_id = ANY($1) AND status IN ('ready', 'claimed', 'sending', 'failed', 'in_doubt')
GROUP BY step_id
