-- return_job: return a running job to its queue. At the front it keeps its old number and position; at the
-- back it gets a new number.
--
-- uses   now events job_history job_states

local function return_job(job, kind, position, delay, more, failure, message, data)
  local event = emit(kind, job, nil, now - job.since, changed_payload(job, data, more))
  add_history(job, kind, failure, message)
  leave_state(job)
  if position == 'back' then
    job.seq = event
  end
  enqueue(job, delay)
end
