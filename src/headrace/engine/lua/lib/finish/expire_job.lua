-- expire_job: delete a job that did not start in time.
--
-- uses   events job_states books notices job_finished

local function expire_job(job)
  emit('expired', job)
  leave_state(job)
  book(job.queue, 'expired', 1)
  job_finished(job, 'expired')
  notify_finished(job.id)
  delete_job(job)
end
