-- bundles: what was prepared on this shard and is not over, and what became of it so far.
--
-- args   count:int
-- uses   keys now
-- reply  for each its name, its write, its state, and 1 if it has waited too long, else 0

local found = redis.call('ZRANGE', BUNDLES, 0, count - 1, 'WITHSCORES')
local listed = {}
for i = 1, #found, 2 do
  local record = redis.call('HMGET', key('bundle', found[i]), 'write', 'state')
  listed[#listed + 1] = { found[i], record[1], record[2], tonumber(found[i + 1]) <= now and 1 or 0 }
end
return listed
