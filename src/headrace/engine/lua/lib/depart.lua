-- depart: a job leaves its queue for another place (or for the back of the same one). Whoever
-- held it has lost it. A complete job that was not kept is no longer in the books: nothing leaves.
--
-- uses   keys move books notices history

local function depart(job)
  if job.state == 'complete' and not redis.call('ZSCORE', key('complete', job.queue), job.id) then
    return
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
