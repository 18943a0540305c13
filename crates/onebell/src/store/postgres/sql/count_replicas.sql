-- count_replicas: live replicas, and what all replicas ever prevented
SELECT r.live, b.slots + r.slots AS slots, b.effects + r.effects AS effects, b.messages + r.messages AS messages,
    b.superseded + r.superseded AS superseded
FROM onebell.prevented_before b,
    (SELECT count(*) FILTER (WHERE lost_at IS NULL AND left_at IS NULL) AS live,
            coalesce(sum(prevented_slots), 0)::bigint AS slots, coalesce(sum(prevented_effects), 0)::bigint AS effects,
            coalesce(sum(prevented_messages), 0)::bigint AS messages, coalesce(sum(prevented_superseded), 0)::bigint AS superseded
     FROM onebell.replicas) r
