-- rewind_jobs: planning goes on from an accepted clock; due at once, so that the next slot is found again
UPDATE onebell_jobs
SET cursor = :now, next_slot = CASE WHEN next_slot IS NOT NULL THEN :now END
WHERE cursor > :now
