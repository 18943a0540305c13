-- read_silences: jobs that may have been silent for too long, and nobody was told
SELECT job_id FROM onebell_vigils WHERE expect_by IS NOT NULL AND expect_by < :now ORDER BY expect_by LIMIT :limit
