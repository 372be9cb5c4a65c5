-- conclude_alone: where there is one shard, a write is published when its bundle is.
--
-- uses   keys ledger

return function(bundle)
  local record = key('bundle', bundle)
  conclude_write(redis.call('HGET', record, 'write'), bundle, redis.call('HMGET', record, unpack(TALLIES)))
end
