-- reclaim_job: a lease is taken from a worker that let it lapse or died. It costs a retry; a job that has
-- none left is failed, so that what kills its workers does not come back for ever.
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
