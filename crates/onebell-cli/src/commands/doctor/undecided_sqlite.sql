-- What was asked about after a restore and waits for a person; the texts are those of model::restore.
SELECT (SELECT count(*) FROM onebell_job_steps AS s JOIN onebell_runs AS r ON r.run_id = s.run_id
        WHERE s.status = 'held' AND r.finished_at IS NULL AND s.error LIKE 'the database was restored to its state of %') AS steps,
       (SELECT count(*) FROM onebell_outbox
        WHERE status = 'in_doubt' AND note LIKE 'the database was restored to its state of %') AS messages
