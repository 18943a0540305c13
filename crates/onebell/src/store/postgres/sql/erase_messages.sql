-- erase_messages: messages of a job
DELETE FROM onebell.outbox WHERE job_id = $1
