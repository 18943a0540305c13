-- erase_definitions: every version of a job
DELETE FROM onebell.definitions WHERE job_id = $1
