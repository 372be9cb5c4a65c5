-- expected: in how many milliseconds the first of some running jobs is likely to be done: when it has
-- run as long as jobs of its queue have run today on average. '' when there is nothing to go by.
--
-- uses   keys now jobs stats

local function expected(queue, ids)
  local day = math.floor(now / DAY) .. ':' .. queue
  local mean = tonumber(redis.call('HGET', key('stats', day), 'run:mean') or nil)
  local soonest = math.huge
  read_jobs(ids)
  for _, id in ipairs(ids) do
    local job = read_job(id)
    if job and mean then
      soonest = math.min(soonest, math.max(0, job.since + mean - now))
    end
  end
  return soonest < math.huge and math.ceil(soonest) or ''
end
