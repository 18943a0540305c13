-- rewind_vigils: silence counts from no instant that the accepted clock has not reached
UPDATE onebell_vigils
SET since = min(since, :now), succeeded_at = min(succeeded_at, :now),
    expect_by = CASE WHEN expect_by IS NOT NULL
                     THEN max(min(since, :now), coalesce(min(succeeded_at, :now), min(since, :now))) + within_us END
WHERE since > :now OR succeeded_at > :now OR expect_by > :now + within_us
