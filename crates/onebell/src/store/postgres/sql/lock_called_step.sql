-- lock_called_step: nobody else keeps a callback of this step, and nobody ends it, meanwhile
SELECT step_id FROM onebell.job_steps WHERE step_id = $1 FOR UPDATE
