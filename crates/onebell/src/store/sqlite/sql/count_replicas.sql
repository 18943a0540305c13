-- count_replicas: live replicas, and what all of them ever prevented
SELECT (SELECT count(*) FROM onebell_replicas WHERE lost_at IS NULL AND left_at IS NULL) AS live,
       slots + (SELECT coalesce(sum(prevented_slots), 0) FROM onebell_replicas) AS slots,
       effects + (SELECT coalesce(sum(prevented_effects), 0) FROM onebell_replicas) AS effects,
       messages + (SELECT coalesce(sum(prevented_messages), 0) FROM onebell_replicas) AS messages,
       superseded + (SELECT coalesce(sum(prevented_superseded), 0) FROM onebell_replicas) AS superseded
FROM onebell_prevented_before
