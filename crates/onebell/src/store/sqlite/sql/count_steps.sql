-- count_steps: steps by status, open and done
SELECT status AS word, count(*) AS count FROM onebell_job_steps GROUP BY status
UNION ALL
SELECT final, count(*) FROM onebell_attempts WHERE final IS NOT NULL GROUP BY final
