-- depart: a job leaves its queue for another place (or for the back of the same one). Whoever
-- held it has lost it, and what it came to before is no longer its result. A complete job that was
-- not kept is no longer in the books: nothing leaves.
--
-- uses   keys move books notices history results

local function depart(job)
  if job.state == 'complete' then
    drop_result(job)
    if not redis.call('ZSCORE', key('complete', job.queue), job.id) then
      return
    end
  end
  if job.state == 'running' then
    tell_worker(job, 'lost')
  end
  if job.state ~= 'complete' and job.state ~= 'failed' then
    remember(job, 'moved')
  end
  leave(job)
  count(job.queue, 'moved', 1)
  job.token = ''
end
