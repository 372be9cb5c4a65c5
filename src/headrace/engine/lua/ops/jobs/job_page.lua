-- job_page: return a page of the jobs in a sorted set of the shard. The jobs are sorted by score, or by
-- descending score with `newest_first`.
--
-- args   role name newest_first:flag offset:int count:int
-- flags  no-writes
-- uses   keys set_members describe_jobs
-- reply  {total, described job, ...}

local where = key(role, name)
local found = redis.call(newest_first and 'ZREVRANGE' or 'ZRANGE', where, offset, offset + count - 1,
  'WITHSCORES')
return describe_jobs(ids_in(found, role), { redis.call('ZCARD', where) })
