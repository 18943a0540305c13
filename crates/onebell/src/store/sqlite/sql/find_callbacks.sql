-- find_callbacks: whether anything came back for a step
SELECT 1 FROM onebell_callbacks WHERE step_id = :step LIMIT 1
