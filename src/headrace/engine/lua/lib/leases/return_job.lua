-- return_job: return running jobs to their queues.
--
-- uses   now events job_history job_states failures observations notices

-- At the front, the job keeps its old sequence number and position. At the back, the job gets a new
-- sequence number.
local function return_job(job, kind, position, delay, more, failure, message, data)
  local event = emit(kind, job, nil, now - job.since, changed_payload(job, data, more))
  add_history(job, kind, failure, message)
  leave_state(job)
  if position == 'back' then
    job.seq = event
  end
  enqueue(job, delay)
end

local function end_lease(job)
  notify_worker(job, 'lost')
  job.token = ''
end

-- Take a job from its worker although the worker did nothing wrong, for example because an operator called
-- `timeout`. The job loses no retry.
local function take_back(job, reason)
  end_lease(job)
  return_job(job, 'lost', 'front', 0, { 'reason', reason })
end

-- Take a job from a worker that died or whose lease expired. The job loses one retry. A job that has no
-- retries left fails, so that a job that kills its workers is not retried forever.
local function reclaim_job(job, reason)
  local holder = job.worker
  end_lease(job)
  observe(job.queue, 'retries')
  if job.retries and job.remaining <= 0 then
    fail_job(job, 'retries exhausted',
      reason .. ' with worker ' .. holder .. ' on attempt ' .. job.attempt, reason)
  else
    if job.retries then
      job.remaining = job.remaining - 1
    end
    return_job(job, 'lost', 'front', 0, { 'reason', reason })
  end
end
