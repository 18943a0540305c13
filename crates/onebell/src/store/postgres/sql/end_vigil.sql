-- end_vigil: nobody expects the job to succeed any more; what is known of it stays
UPDATE onebell.vigils SET within_us = NULL, expect_by = NULL WHERE job_id = $1 AND within_us IS NOT NULL
