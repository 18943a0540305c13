-- count_run_messages: messages of a run by status
SELECT status AS word, count(*) AS count FROM onebell_outbox WHERE run_id = :run GROUP BY status
