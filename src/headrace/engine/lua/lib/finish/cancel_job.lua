-- cancel_job: a job that is not complete is deleted, and its holder told.
--
-- uses   now emit move books notices failure_list ends

local function cancel_job(job, reason)
  local run
  if job.state == 'running' then
    run = now - job.since
    tell_worker(job, 'cancelled')
  end
  emit('cancelled', job, nil, run, nil, { 'was', job.state, 'reason', reason })
  unlist_failure(job)
  leave(job)
  book(job.queue, 'cancelled', 1)
  job_finished(job, 'cancelled')
  tell_ended(job.id)
  forget(job)
end
