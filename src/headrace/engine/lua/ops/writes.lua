-- writes: the newest writes of which this shard is the home.
--
-- args   count:int
-- uses   keys
-- reply  for each its name and its entry in the ledger

local listed = {}
for i, write in ipairs(redis.call('ZRANGE', WRITES, 0, count - 1, 'REV')) do
  listed[i] = { write, redis.call('HGETALL', key('write', write)) }
end
return listed
