-- resume: a pop whose answer was lost is repeated: what it was given then, it is given now.
--
-- uses   keys jobs

return function()
  local entries = redis.call('ZRANGE', key('held', worker), '[' .. queue .. '\0',
    '(' .. queue .. '\1', 'BYLEX', 'LIMIT', 0, 1000)
  for _, entry in ipairs(entries) do
    local job = read_job(string.sub(entry, #queue + 2))
    if job and job.token == job.attempt .. '.' .. secret then
      granted[#granted + 1] = job
    end
  end
end
