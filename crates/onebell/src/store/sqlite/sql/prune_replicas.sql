-- prune_replicas: replicas lost or left for long
DELETE FROM onebell_replicas WHERE replica_id IN (SELECT value FROM json_each(:replicas))
