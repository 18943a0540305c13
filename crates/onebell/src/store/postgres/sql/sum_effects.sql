-- sum_effects: count and exact sum of a scope, from the effects themselves
SELECT count(*) AS number, coalesce(sum(amount), 0)::text AS total FROM onebell.effects WHERE scope = $1 AND failed IS NULL
