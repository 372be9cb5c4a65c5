-- return_job: a running job returns to its queue. To the front keeps its old number and so its old
-- place; to the back takes a new one.
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
