-- count_effects: all effects
SELECT count(*) AS count FROM onebell_effects
