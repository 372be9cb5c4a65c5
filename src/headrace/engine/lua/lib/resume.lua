-- resume: a pop whose answer was lost is repeated: what it was given then and still holds, it is
-- given now, in the same order.
--
-- uses   keys jobs

return function()
  local ids = redis.call(
    'ZRANGE', key('held', worker), '[' .. queue .. '\0', '(' .. queue .. '\1', 'BYLEX'
  )
  for i, entry in ipairs(ids) do
    ids[i] = string.sub(entry, #queue + 2)
  end
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
