-- job_history: keep an entry for each earlier stage and attempt of a job, oldest first. The first entry and
-- the newest ones are kept. The present stage, or the last one of a complete job, has no entry: the record
-- of the job shows it.
--
-- uses   now settings

local function add_history(job, outcome, failure, message)
  local limit = settings(job.queue).history
  if limit == 0 then
    return
  end
  local ran = job.state == 'running' or job.state == 'complete'
  local entries = job.history or {}
  while #entries >= limit do
    table.remove(entries, math.min(2, #entries))
  end
  entries[#entries + 1] = {
    job.queue, job.put_at, ran and job.since, job.ended or now, ran and job.worker or '', outcome,
    failure or '', message or '',
  }
  job.history = entries
end
