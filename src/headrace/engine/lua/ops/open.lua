-- open: makes the namespace on this shard, or says how it was made. The first to come decides.
--
-- args   shards:int layout:int
-- uses   keys now
-- reply  {layout, shards}

redis.call('HSETNX', META, 'layout', layout)
redis.call('HSETNX', META, 'shards', shards)
redis.call('HSETNX', META, 'created', now)
return redis.call('HMGET', META, 'layout', 'shards')
