-- rewind_terms: a term from before an accepted clock ends at once; its epoch stays
UPDATE onebell_terms SET expires_at = :now WHERE expires_at > :now
