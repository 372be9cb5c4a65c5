-- list_writes: return the newest writes that this shard coordinates, and the newest batches of streams.
--
-- args   count:int
-- flags  no-writes
-- uses   keys
-- reply  for each write, its name and its commit log entry

local listed = {}
for _, where in ipairs({ WRITES, STREAMS }) do
  for _, write in ipairs(redis.call('ZRANGE', where, 0, count - 1, 'REV')) do
    listed[#listed + 1] = { write, redis.call('HGETALL', key('write', write)) }
  end
end
return listed
