-- resume_pop: a pop whose answer was lost is repeated: what it was given then and still holds, it is
-- given now, in the same order.
--
-- uses   keys job_records
-- needs  queue secret granted

local NEWEST = 5000

return function()
  local ids = redis.call('ZREVRANGE', key('running', queue), 0, NEWEST - 1)
  read_jobs(ids)
  for _, id in ipairs(ids) do
    local job = read_job(id)
    if job and job.token == job.attempt .. '.' .. secret then
      granted[#granted + 1] = job
    end
  end
  table.sort(granted, function(one_job, other_job)
    return one_job.priority < other_job.priority
      or one_job.priority == other_job.priority and one_job.seq < other_job.seq
  end)
end
