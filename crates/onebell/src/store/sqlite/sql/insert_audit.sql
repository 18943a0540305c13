-- insert_audit: what a person or a program did
INSERT INTO onebell_audit_log (at, actor, action, target, reason, detail)
VALUES (:now, :actor, :action, :target, :reason, :detail)
