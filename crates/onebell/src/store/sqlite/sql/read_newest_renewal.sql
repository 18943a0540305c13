-- read_newest_renewal: the newest instant at which anybody renewed
SELECT newest FROM onebell_clock
