-- history: what became of each stage and attempt of a job, oldest first. The first entry and the
-- newest ones are kept; the present stage is not in it, the job itself shows it.
--
-- uses   now settings

local function remember(job, outcome, failure, message)
  local limit = settings(job.queue).history
  if limit == 0 then
    return
  end
  local started = job.state == 'running' and job.since or false
  local entries = job.history or {}
  if #entries >= limit then
    table.remove(entries, math.min(2, #entries))
  end
  entries[#entries + 1] = {
    job.queue, job.put_at, started, now, started and job.worker or '', outcome,
    failure or '', message or '',
  }
  job.history = entries
end
