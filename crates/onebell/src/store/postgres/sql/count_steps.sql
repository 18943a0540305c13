-- count_steps: steps by status; done ones come from the history
SELECT status AS word, count(*) AS number FROM onebell.job_steps GROUP BY status
UNION ALL
SELECT final, count(*) FROM onebell.attempts WHERE final IS NOT NULL GROUP BY final
