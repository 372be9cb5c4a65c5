-- newest_event: the number of the newest event of the shard, and its time.
--
-- uses   keys
-- reply  {number, milliseconds}, both 0 if there is none

local number, stamp = unpack(redis.call('HMGET', LOG, 'number', 'stamp'))
return { tonumber(number or 0), tonumber(stamp or 0) }
