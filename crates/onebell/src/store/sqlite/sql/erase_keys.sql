-- erase_keys: request keys of a job
DELETE FROM onebell_request_keys WHERE job_id = :job
