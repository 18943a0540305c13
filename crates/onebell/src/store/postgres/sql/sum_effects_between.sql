-- sum_effects_between: count and exact sum of a scope in a period, from the effects themselves
SELECT count(*) FILTER (WHERE failed IS NULL) AS number, coalesce(sum(amount) FILTER (WHERE failed IS NULL), 0)::text AS total,
    count(*) FILTER (WHERE failed IS NOT NULL) AS failed
FROM onebell.effects
WHERE scope = $1 AND ($2::timestamptz IS NULL OR created_at >= $2) AND ($3::timestamptz IS NULL OR created_at < $3)
