-- read_heard: a replica that was heard of within its lease
SELECT label, beat_at FROM onebell.replicas
WHERE lost_at IS NULL AND left_at IS NULL AND beat_at + lease_us * interval '1 microsecond' > $1
ORDER BY beat_at DESC
LIMIT 1
