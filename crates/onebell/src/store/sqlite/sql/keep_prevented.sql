-- keep_prevented: what replicas that go had prevented
UPDATE onebell_prevented_before AS kept
SET slots = kept.slots + gone.slots, effects = kept.effects + gone.effects, messages = kept.messages + gone.messages,
    superseded = kept.superseded + gone.superseded
FROM (SELECT coalesce(sum(prevented_slots), 0) AS slots, coalesce(sum(prevented_effects), 0) AS effects,
             coalesce(sum(prevented_messages), 0) AS messages, coalesce(sum(prevented_superseded), 0) AS superseded
      FROM onebell_replicas WHERE replica_id IN (SELECT value FROM json_each(:replicas))) AS gone
