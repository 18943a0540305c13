-- take_term: a new period of a duty that nobody holds, or whose holder's term expired
INSERT INTO onebell_terms (duty, holder, epoch, expires_at) VALUES (:duty, :replica, 1, :expires_at)
ON CONFLICT (duty) DO UPDATE SET holder = excluded.holder, epoch = onebell_terms.epoch + 1, expires_at = excluded.expires_at
WHERE onebell_terms.expires_at <= :now
RETURNING epoch
