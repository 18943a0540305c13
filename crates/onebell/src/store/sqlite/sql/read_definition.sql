-- read_definition: the definition that a run was opened with
SELECT definition FROM onebell_definitions WHERE job_id = :job AND version = :version
