-- line_up: puts a job in the line of its queue, at once or after a delay.
--
-- uses   now move notices

local function line_up(job, delay)
  job.worker = ''
  job.since = now + delay
  if delay > 0 then
    enter(job, 'scheduled', job.since)
  else
    enter(job, 'waiting', job.priority)
    wake(job.queue, 1)
  end
end
