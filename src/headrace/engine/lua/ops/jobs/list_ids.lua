-- list_ids: return a page of a sorted set of the shard: ids with their scores, without the jobs. For
-- waiting jobs the reply also contains the put time. The put times determine the order of jobs of equal
-- priority across shards.
--
-- args   role name newest_first:flag offset:int count:int
-- flags  no-writes
-- uses   keys set_members job_records kept_jobs
-- reply  {total, id, score, put time or 0, ...}

local where = key(role, name)
-- Completed jobs whose retention has ended are hidden. They are the oldest ones.
local hidden = role == 'complete' and hidden_completed(name) or 0
local total = redis.call('ZCARD', where) - hidden
local last = math.min(offset + count, total) - 1
local found = {}
if offset <= last then
  local first = newest_first and offset or offset + hidden
  found = redis.call(newest_first and 'ZREVRANGE' or 'ZRANGE', where, first, first + last - offset, 'WITHSCORES')
end
local ids = ids_in(found, role)
if role == 'waiting' then
  read_jobs(ids)
end
local reply = { total }
for i, id in ipairs(ids) do
  local job = loaded_jobs[id]
  reply[3 * i - 1] = id
  reply[3 * i] = found[2 * i]
  reply[3 * i + 1] = job and job.put_at or 0
end
return reply
