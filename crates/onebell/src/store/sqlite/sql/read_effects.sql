-- read_effects: the fingerprint of a result that exists
SELECT fingerprint FROM onebell_effects WHERE scope = :scope AND key = :key
