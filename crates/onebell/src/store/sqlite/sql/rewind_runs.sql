-- rewind_runs: what is to be over by then is to be over as much earlier as the clock was set back
UPDATE onebell_runs SET finish_by = max(:now, finish_by - :span_us) WHERE finish_by > :now
