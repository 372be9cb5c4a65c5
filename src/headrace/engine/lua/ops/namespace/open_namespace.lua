-- open_namespace: create the namespace on this shard if the shard does not have the namespace, and return
-- the layout and the number of shards. The first call determines the layout and the number of shards. Ids
-- of ingress jobs begin with `ingress_ids`, so that these ids belong to this shard.
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
