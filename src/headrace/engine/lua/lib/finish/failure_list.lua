-- failure_list: failed jobs are listed by type; a type without jobs disappears.
--
-- uses   keys jobs places move finishers

local failure_counts = {}

local function list_failure(job, by)
  local kind, _, at = unpack(extra(job, 'failure'))
  failure_counts[kind] = (failure_counts[kind] or 0) + by
  if by > 0 then
    place(key('failures', kind), job.id, at)
  else
    lift(key('failures', kind), job.id)
  end
end

local function unlist_failure(job)
  if job.state == 'failed' then
    list_failure(job, -1)
    set_extra(job, 'failure', nil)
  end
end

finishers[#finishers + 1] = function()
  for kind, by in pairs(failure_counts) do
    if by ~= 0 and tonumber(redis.call('ZINCRBY', FAILURE_TYPES, by, kind)) <= 0 then
      redis.call('ZREM', FAILURE_TYPES, kind)
    end
  end
end
