-- read_heard: a replica that was heard of within its lease
SELECT label, beat_at FROM onebell_replicas
WHERE lost_at IS NULL AND left_at IS NULL AND beat_at + lease_us > :now
ORDER BY beat_at DESC
LIMIT 1
