-- unlock: a blocked job joins the line, at the back; what is left of its delay it waits out.
--
-- uses   now emit move line_up

local function unlock(job)
  local delay = math.max(0, job.since - now)
  leave(job)
  job.seq = emit('unlocked', job, nil, nil, nil, { 'delay', delay })
  line_up(job, delay)
end
