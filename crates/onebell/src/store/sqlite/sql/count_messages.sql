-- count_messages: messages by status
SELECT status AS word, count(*) AS count FROM onebell_outbox GROUP BY status
