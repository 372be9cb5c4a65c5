-- job_history: keep an entry for each earlier attempt of a job and for each queue that the job has left,
-- oldest first. If the history is full, the first entry and the newest entries are kept. The current
-- attempt, or the last attempt of a complete job, has no entry, because the record of the job describes
-- this attempt.
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
