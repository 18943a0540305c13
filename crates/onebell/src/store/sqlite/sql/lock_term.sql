-- lock_term: who holds a duty, under the write lock
SELECT holder, epoch, expires_at FROM onebell_terms WHERE duty = :duty
