-- cancel_and_expire: delete jobs that have not finished.
--
-- uses   now events job_states books notices failures job_finished

-- Delete a job that is not complete, and notify the worker that holds the job.
local function cancel_job(job, reason)
  local run
  if job.state == 'running' then
    run = now - job.since
    notify_worker(job, 'cancelled')
  end
  emit('cancelled', job, nil, run, nil, { 'was', job.state, 'reason', reason })
  unlist_failure(job)
  leave_state(job)
  book(job.queue, 'cancelled', 1)
  job_finished(job, 'cancelled')
  notify_finished(job.id)
  delete_job(job)
end

-- Delete a job that did not start before its start deadline.
local function expire_job(job)
  emit('expired', job)
  leave_state(job)
  book(job.queue, 'expired', 1)
  job_finished(job, 'expired')
  notify_finished(job.id)
  delete_job(job)
end
