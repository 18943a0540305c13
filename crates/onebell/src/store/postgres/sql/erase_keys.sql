-- erase_keys: request keys of a job
DELETE FROM onebell.request_keys WHERE job_id = $1
