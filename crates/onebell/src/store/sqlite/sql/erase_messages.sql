-- erase_messages: messages of a job
DELETE FROM onebell_outbox WHERE job_id = :job
