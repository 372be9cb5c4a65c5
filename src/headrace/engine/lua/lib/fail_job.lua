-- fail_job: a job is set aside as failed, listed by type until it is retried, moved or cancelled.
--
-- uses   now emit history move observe notices

local MESSAGE_IN_EVENT = 1024

local function fail_job(job, kind, message, reason)
  local run = job.state == 'running' and now - job.since or nil
  emit('failed', job, nil, run, nil, {
    'failure', kind, 'message', string.sub(message, 1, MESSAGE_IN_EVENT), 'reason', reason,
  })
  remember(job, 'failed', kind, message)
  leave(job)
  job.failure = { kind, message, now, job.worker }
  job.worker = ''
  job.since = now
  enter(job, 'failed', now)
  tally(job.queue, 'failures')
  tell_ended(job.id)
end
