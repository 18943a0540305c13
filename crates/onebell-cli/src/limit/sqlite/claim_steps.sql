-- A set of steps for one owner, unless somebody was faster.
UPDATE steps SET status = 'running', attempt = attempt + 1, locked_by = ?1 WHERE id BETWEEN ?2 AND ?3 AND status = 'pending'
