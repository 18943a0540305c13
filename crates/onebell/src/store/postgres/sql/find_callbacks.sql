-- find_callbacks: whether anything came back for a step
SELECT 1 AS found FROM onebell.callbacks WHERE step_id = $1 LIMIT 1
