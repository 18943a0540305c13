-- count_runs: runs by status
SELECT status AS word, count(*) AS number FROM onebell.runs GROUP BY status
