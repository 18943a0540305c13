-- count_run_messages: the messages of a run by status
SELECT status AS word, count(*) AS number FROM onebell.outbox WHERE run_id = $1 GROUP BY status
