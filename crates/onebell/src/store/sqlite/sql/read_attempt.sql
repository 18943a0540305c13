-- read_attempt: how an attempt ended, and by whom
SELECT replica, outcome FROM onebell_attempts WHERE step_id = :step AND attempt = :attempt
