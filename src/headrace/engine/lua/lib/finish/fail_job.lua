-- fail_job: a job is set aside as failed, listed by type until it is retried, moved or cancelled.
--
-- uses   now emit history move jobs observe notices failure_list ends

local function fail_job(job, kind, message, reason, traceback, data)
  local short = shortened(message)
  local run = job.state == 'running' and now - job.since or nil
  emit('failed', job, nil, run, told_change(job, data, {
    'failure', kind, 'message', short, 'reason', reason,
  }))
  remember(job, 'failed', kind, short)
  keep_error(job, message, traceback)
  unlist_failure(job)
  leave(job)
  job_finished(job, 'failed')
  set_extra(job, 'failure', { kind, short, now, job.worker })
  job.worker = ''
  job.since = now
  enter(job, 'failed', now)
  list_failure(job, 1)
  observe(job.queue, 'failures')
  tell_ended(job.id)
end
