-- accept_clock: a clock that was set back is right
UPDATE onebell_clock SET newest = :now WHERE newest = :newest
