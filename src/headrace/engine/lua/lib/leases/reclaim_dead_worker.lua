-- reclaim_dead_worker: find a worker whose session expired, end the session, and return the worker's jobs to
-- the front of their queues. Return true if no session has expired.
--
-- uses   keys now sessions return_job

local function reclaim_dead_worker()
  local dead = redis.call('ZRANGE', SESSIONS, '-inf', now, 'BYSCORE', 'LIMIT', 0, 1)[1]
  if not dead then
    return true
  end
  end_session(dead, function(job)
    reclaim_job(job, 'session ended')
  end)
  return false
end
