-- sum_effects: count and exact sum of a scope, in two halves that cannot overflow
SELECT count(*) AS count, coalesce(sum(amount >> 32), 0) AS high, coalesce(sum(amount & 4294967295), 0) AS low
FROM onebell_effects WHERE scope = :scope AND failed IS NULL
