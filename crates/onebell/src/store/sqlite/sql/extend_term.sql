-- extend_term: the term now expires then, if it is still ours
UPDATE onebell_terms SET expires_at = :expires_at WHERE duty = :duty AND holder = :replica AND epoch = :epoch
