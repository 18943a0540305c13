-- keep_prevented: what replicas that go had prevented still counts
UPDATE onebell.prevented_before b
SET slots = b.slots + r.slots, effects = b.effects + r.effects, messages = b.messages + r.messages, superseded = b.superseded + r.superseded
FROM (SELECT coalesce(sum(prevented_slots), 0)::bigint AS slots, coalesce(sum(prevented_effects), 0)::bigint AS effects,
             coalesce(sum(prevented_messages), 0)::bigint AS messages, coalesce(sum(prevented_superseded), 0)::bigint AS superseded
      FROM onebell.replicas WHERE replica_id = ANY($1)) r
