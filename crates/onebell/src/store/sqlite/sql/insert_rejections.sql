-- insert_rejections: what a chunk found
INSERT INTO onebell_rejections (batch_id, byte, line, outcome, key, reason, record, recorded_at)
VALUES (:batch, :byte, :line, :outcome, :key, :reason, :record, :now)
