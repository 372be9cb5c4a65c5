-- expire_job: a job that was not started in time is over.
--
-- uses   emit move books notices over

local function expire_job(job)
  emit('expired', job)
  leave(job)
  book(job.queue, 'expired', 1)
  over(job, 'expired')
  tell_ended(job.id)
  forget(job)
end
