-- count_effects: all effects
SELECT count(*) AS number FROM onebell.effects
