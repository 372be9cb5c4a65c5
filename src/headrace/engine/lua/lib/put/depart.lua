-- depart: a job leaves its queue for another place (or for the back of the same one). Whoever
-- held it has lost it, and what it came to before is no longer its result. A complete job that was
-- not kept is no longer in the books: nothing leaves.
--
-- uses   keys move books notices history failure_list results claims

local function depart(job)
  local state = job.state
  if state == 'running' then
    tell_worker(job, 'lost')
  end
  job.token = ''
  release_claim(job)
  if state == 'complete' then
    remember(job, 'completed')
    drop_result(job)
    if not redis.call('ZSCORE', key('complete', job.queue), job.id) then
      return
    end
  elseif state == 'failed' then
    unlist_failure(job)
  else
    remember(job, 'moved')
  end
  leave(job)
  book(job.queue, 'moved', 1)
end
