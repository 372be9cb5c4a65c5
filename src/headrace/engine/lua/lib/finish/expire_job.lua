-- expire_job: a job that was not started in time is over.
--
-- uses   emit move books notices ends

local function expire_job(job)
  emit('expired', job)
  leave(job)
  book(job.queue, 'expired', 1)
  job_finished(job, 'expired')
  tell_ended(job.id)
  forget(job)
end
