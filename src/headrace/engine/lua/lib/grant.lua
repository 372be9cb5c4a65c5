-- grant: a job goes to a worker under a new lease, or for good where popping removes it.
--
-- uses   keys now settings emit move observe books places

local function grant(job, worker, secret, deadline, waited)
  observe(job.queue, 'wait', waited)
  leave(job)
  if job.start_by then
    lift(AGENDA, 'start:' .. job.id)
    job.start_by = false
  end
  job.attempt = job.attempt + 1
  job.worker = worker
  job.token = job.attempt .. '.' .. secret
  job.since = now
  emit('popped', job, waited)
  if settings(job.queue).removes == 1 then
    emit('completed', job, nil, 0)
    count(job.queue, 'complete', 1)
    count(job.queue, 'pruned', 1)
    forget(job)
  else
    enter(job, 'running', deadline)
  end
end
