-- open_term: a duty that nobody ever held
INSERT INTO onebell.terms (duty, holder, epoch, expires_at) VALUES ($1, '', 0, $2)
ON CONFLICT DO NOTHING
