-- change_queue: add jobs to queues, and remove jobs from queues.
--
-- uses   now job_records remembered_answers books ensure_queue unique_values job_states links keys notices job_history
-- uses   failures results events

-- Add a job to the back of a queue, like a new job. The retry budget of the job is renewed.
local function join_queue(job, queue, seq, delay, parents)
  ensure_queue(queue)
  job.queue = queue
  job.seq = seq
  job.put_at = now
  job.remaining = job.retries
  job.ended = false
  if job.extra then
    set_extra(job, 'releases', nil)
  end
  claim_unique_value(job)
  book(queue, 'put', 1)
  if not (parents and block_job(job, parents, delay)) then
    enqueue(job, delay)
  end
end

-- Remove a job from its queue, to move the job to another queue or to the back of the same queue. If a
-- worker holds the job, that worker loses its lease. An earlier result of the job is deleted. A completed job may
-- exist only because of its result, although its queue does not keep it. The books already count such a job as
-- gone, so the books do not change.
local function leave_queue(job)
  local state = job.state
  if state == 'running' then
    notify_worker(job, 'lost')
  end
  if state == 'complete' then
    keep_proof_of_completion(job)
  end
  job.token = ''
  release_unique_value(job)
  if state == 'complete' then
    add_history(job, 'completed')
    drop_result(job)
    if not redis.call('ZSCORE', key('complete', job.queue), job.id) then
      return
    end
  elseif state == 'failed' then
    unlist_failure(job)
  else
    add_history(job, 'moved')
  end
  leave_state(job)
  if extra(job, 'first') then
    set_extra(job, 'first', nil)
  end
  book(job.queue, 'moved', 1)
end

-- Move a completed job to its next queue, in the call that completes the job.
local function move_to_next_queue(job, run, data, next_queue, delay, parents)
  local event = emit('completed', job, nil, run,
    changed_payload(job, data, { 'next', next_queue, 'delay', delay }))
  add_history(job, 'completed')
  leave_state(job)
  release_unique_value(job)
  book(job.queue, 'moved', 1)
  join_queue(job, next_queue, event, delay, parents)
  return job.state
end
