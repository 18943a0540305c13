-- sum_effects_between: count and exact sum of a scope in a period, in two halves that cannot overflow
SELECT count(*) FILTER (WHERE failed IS NULL) AS count, coalesce(sum(amount >> 32) FILTER (WHERE failed IS NULL), 0) AS high,
       coalesce(sum(amount & 4294967295) FILTER (WHERE failed IS NULL), 0) AS low, count(*) FILTER (WHERE failed IS NOT NULL) AS failed
FROM onebell_effects
WHERE scope = :scope AND (:since IS NULL OR created_at >= :since) AND (:until IS NULL OR created_at < :until)
