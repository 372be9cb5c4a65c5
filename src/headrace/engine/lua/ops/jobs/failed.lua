-- failed: return a page of the failed jobs of one failure type, most recent first (or oldest first).
--
-- args   failure offset:int count:int oldest_first:flag
-- uses   keys describe_jobs
-- reply  {total, described job, ...}

local where = key('failures', failure)
local ids = redis.call(oldest_first and 'ZRANGE' or 'ZREVRANGE', where, offset, offset + count - 1)
local reply = describe_jobs(ids)
table.insert(reply, 1, redis.call('ZCARD', where))
return reply
