-- delete_batch_effects: what this transaction has just written and the user's statements refused
DELETE FROM onebell_effects WHERE scope = :scope AND key = :key AND batch_id = :batch
