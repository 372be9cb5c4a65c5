-- list_writes: the newest writes of which this shard is the home, and the newest batches of streams.
--
-- args   count:int
-- uses   keys
-- reply  for each its name and its entry in the ledger

local listed = {}
for _, where in ipairs({ WRITES, STREAMS }) do
  for _, write in ipairs(redis.call('ZRANGE', where, 0, count - 1, 'REV')) do
    listed[#listed + 1] = { write, redis.call('HGETALL', key('write', write)) }
  end
end
return listed
