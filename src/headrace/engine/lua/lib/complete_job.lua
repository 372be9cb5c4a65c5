-- complete_job: a running job ends well, or moves on to its next queue in the same step.
--
-- uses   now settings jobs emit history move books observe notices retain join results

local function complete_job(job, result, data, next, delay)
  local run = now - job.since
  observe(job.queue, 'run', run)
  if data then
    set_data(job, data)
  end
  local event = emit('completed', job, nil, run, nil, next and { 'next', next, 'delay', delay } or nil)
  remember(job, 'completed')
  leave(job)
  if next then
    count(job.queue, 'moved', 1)
    join(job, next, event, delay)
    return job.state
  end
  local limits = settings(job.queue)
  job.worker = ''
  job.failure = false
  job.since = now
  tell_ended(job.id)
  local kept = limits.keep_count > 0 and limits.keep_age > 0
  if kept then
    enter(job, 'complete', now)
    retain_later(job.queue)
  else
    job.state = 'complete'
    count(job.queue, 'complete', 1)
    count(job.queue, 'pruned', 1)
    if result then touch(job) else forget(job) end
  end
  if result then
    keep_result(job, result, not kept)
  end
  return 'complete'
end
