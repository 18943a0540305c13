-- insert_audit: who did what and why
INSERT INTO onebell.audit_log (at, actor, action, target, reason, detail) VALUES ($1, $2, $3, $4, $5, $6)
