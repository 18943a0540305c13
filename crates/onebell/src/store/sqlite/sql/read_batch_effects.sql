-- read_batch_effects: what exists for a key; the payload only where the fingerprint is another
SELECT fingerprint, failed, iif(fingerprint <> :fingerprint, payload, NULL) AS payload
FROM onebell_effects WHERE scope = :scope AND key = :key
