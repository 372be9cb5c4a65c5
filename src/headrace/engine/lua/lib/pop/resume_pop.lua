-- resume_pop: repeat a pop whose reply was lost: return the jobs that it handed out and that the worker
-- still holds, in the same order.
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
