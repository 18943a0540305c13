-- erase_definitions: every version of a job
DELETE FROM onebell_definitions WHERE job_id = :job
