-- delete_batch_effects: what this transaction has just written and the user's statements refused
DELETE FROM onebell.effects WHERE scope = $1 AND key = ANY ($2::text[]) AND batch_id = $3
