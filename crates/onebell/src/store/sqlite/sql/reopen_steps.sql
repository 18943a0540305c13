-- reopen_steps: step cancelled → waiting (reopen)
UPDATE onebell_attempts SET final = NULL WHERE step_id = :step AND final = 'cancelled'
