-- newest_event: the number of the newest event of the shard, and its time.
--
-- uses   keys
-- reply  {number, milliseconds}, both 0 if there is none

local log = redis.call('HMGET', LOG, 'number', 'stamp')
return { tonumber(log[1] or 0), tonumber(log[2] or 0) }
