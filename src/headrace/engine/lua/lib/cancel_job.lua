-- cancel_job: a job that is not complete is deleted, and its holder told.
--
-- uses   now emit move books notices

local function cancel_job(job, reason)
  local run
  if job.state == 'running' then
    run = now - job.since
    tell_worker(job, 'cancelled')
  end
  emit('cancelled', job, nil, run, nil, { 'was', job.state, 'reason', reason })
  leave(job)
  count(job.queue, 'cancelled', 1)
  tell_ended(job.id)
  forget(job)
end
