-- reclaim_job: take a job from a worker whose lease expired or that died. It costs a retry. A job without
-- retries left fails, so that a job that kills its workers does not come back forever.
--
-- uses   return_job fail_job observations notices

local function reclaim_job(job, reason)
  notify_worker(job, 'lost')
  local holder = job.worker
  job.token = ''
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
