-- leave_queue: take a job out of its queue, to move it elsewhere or to the back of the same queue. A worker
-- that holds the job loses its lease, and an earlier result is dropped. A complete job that was not kept is
-- no longer in the books, so nothing else changes.
--
-- uses   keys job_states books notices job_history failures results unique_values

local function leave_queue(job)
  local state = job.state
  if state == 'running' then
    notify_worker(job, 'lost')
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
  book(job.queue, 'moved', 1)
end
