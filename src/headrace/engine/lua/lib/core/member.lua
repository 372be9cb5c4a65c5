-- member: the names under which a job stands in sorted sets. Equal priorities are served by seq.
--
-- uses   numbered

local function member(job)
  if job.state == 'waiting' then
    return numbered(job.seq, job.id)
  end
  return job.id
end

local function held_member(job)
  return job.queue .. '\0' .. job.id
end
