-- read_planners: the live replicas that plan, with their time-zone data
SELECT replica_id, tzdata
FROM onebell.replicas
WHERE lost_at IS NULL AND left_at IS NULL AND tzdata <> ''
ORDER BY replica_id
