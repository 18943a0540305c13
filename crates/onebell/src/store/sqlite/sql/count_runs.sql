-- count_runs: runs by status
SELECT status AS word, count(*) AS count FROM onebell_runs GROUP BY status
