-- fail_job: set a job aside as failed, listed by failure type until it is retried, moved or cancelled.
--
-- uses   now events job_history job_states job_records observations notices failures job_finished

local function fail_job(job, kind, message, reason, traceback, data)
  local short = short_message(message)
  local run = job.state == 'running' and now - job.since or nil
  emit('failed', job, nil, run, changed_payload(job, data, {
    'failure', kind, 'message', short, 'reason', reason,
  }))
  add_history(job, 'failed', kind, short)
  store_error_text(job, message, traceback)
  unlist_failure(job)
  leave_state(job)
  job_finished(job, 'failed')
  set_extra(job, 'failure', { kind, short, now, job.worker })
  job.worker = ''
  job.since = now
  enter_state(job, 'failed', now)
  list_failure(job, 1)
  observe(job.queue, 'failures')
  notify_finished(job.id)
end
