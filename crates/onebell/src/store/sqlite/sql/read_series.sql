-- read_series: the newest batch of a source
SELECT batch_id, generation, status, attempt, locked_by, step_id, complete_by, identity, byte, line, prefix, header,
       applied, already, conflicts, rejected, failed
FROM onebell_batches WHERE series = :series ORDER BY generation DESC LIMIT 1
