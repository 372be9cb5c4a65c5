-- grant: a job goes to a worker under a new lease, or for good where popping removes it.
--
-- uses   keys now settings emit move jobs observe books places over in_lanes

local function start_in_time(job)
  lift(AGENDA, 'start:' .. job.id)
  set_extra(job, 'start_by', nil)
end

local function grant(job, known_member, worker, secret, deadline, waited)
  observe(job.queue, 'wait', waited)
  leave(job, known_member)
  if extra(job, 'start_by') then
    start_in_time(job)
  end
  local attempt = job.attempt + 1
  job.attempt = attempt
  job.worker = worker
  job.token = attempt .. '.' .. secret
  job.since = now
  emit('popped', job, waited)
  local limits = settings(job.queue)
  if limits.limited or is_in_lane(job) then
    lanes('pass_gates', job, limits.removes ~= 1 and deadline)
  end
  if limits.removes == 1 then
    emit('completed', job)
    over(job, 'completed')
    book(job.queue, 'complete', 1)
    book(job.queue, 'pruned', 1)
    forget(job)
  else
    enter(job, 'running', deadline)
  end
end
