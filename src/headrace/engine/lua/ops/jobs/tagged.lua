-- tagged: return a page of the jobs that have a tag, in the order in which they got it.
--
-- args   tag offset:int count:int
-- uses   keys describe_jobs
-- reply  {total, described job, ...}

local where = key('tag', tag)
local reply = describe_jobs(redis.call('ZRANGE', where, offset, offset + count - 1))
table.insert(reply, 1, redis.call('ZCARD', where))
return reply
