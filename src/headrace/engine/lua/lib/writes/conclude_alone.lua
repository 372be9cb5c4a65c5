-- conclude_alone: where there is one shard, a write is published when its bundle is.
--
-- uses   keys ledger

return function(bundle)
  local record = key('bundle', bundle)
  local tallies = redis.call('HMGET', record, unpack(TALLIES))
  local published = 0
  for _, count in ipairs(tallies) do
    published = published + count
  end
  conclude_write(redis.call('HGET', record, 'write'), bundle, tallies, { ['0'] = published })
end
