-- count_messages: messages by status
SELECT status AS word, count(*) AS number FROM onebell.outbox GROUP BY status
