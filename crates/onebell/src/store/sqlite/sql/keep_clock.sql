-- keep_clock: the newest instant at which anybody renewed
UPDATE onebell_clock SET newest = :now WHERE newest < :now
