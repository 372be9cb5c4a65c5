-- jobs: return a page of the jobs of a queue in one state, in the order of the state: next to be served,
-- due soonest, lease ending soonest; failed and complete newest first.
--
-- args   queue state offset:int count:int
-- uses   keys set_members describe_jobs
-- reply  {total, described job, ...}

local where = key(state, queue)
local newest_first = state == 'failed' or state == 'complete'
local ids = redis.call(newest_first and 'ZREVRANGE' or 'ZRANGE', where, offset, offset + count - 1)
if state == 'waiting' then
  for i, place_name in ipairs(ids) do
    ids[i] = name_in(place_name)
  end
end
local reply = describe_jobs(ids)
table.insert(reply, 1, redis.call('ZCARD', where))
return reply
