-- open: makes the namespace on this shard, or says how it was made. The first to come decides.
-- Ids of jobs that come from outside begin with ingress_ids, so that they live on this shard.
--
-- args   shards:int layout:int ingress_ids
-- uses   keys now
-- reply  {layout, shards}

redis.call('HSETNX', META, 'layout', layout)
redis.call('HSETNX', META, 'shards', shards)
redis.call('HSETNX', META, 'created', now)
if tonumber(redis.call('HGET', META, 'shards')) == shards then
  redis.call('HSETNX', META, 'ingress', ingress_ids)
end
return redis.call('HMGET', META, 'layout', 'shards')
