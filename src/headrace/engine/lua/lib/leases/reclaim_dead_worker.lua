-- reclaim_dead_worker: find a worker whose session expired, end the session, and return the worker's jobs to
-- the front of their queues. Return true if no session has expired. A session that expired while the server
-- was away lives on for the grace instead.
--
-- uses   keys now sessions outages return_job

local SPARED_AT_MOST = 100

local function reclaim_dead_worker()
  local expired = redis.call('ZRANGE', SESSIONS, '-inf', now, 'BYSCORE', 'LIMIT', 0, SPARED_AT_MOST, 'WITHSCORES')
  for i = 1, #expired, 2 do
    local worker, ends = expired[i], tonumber(expired[i + 1])
    local grace_ends, silent_since, was_spared = grace_of(worker, ends)
    if not grace_ends then
      local finished = end_session(worker, function(job)
        if was_spared then
          take_back(job, 'server outage')
        else
          reclaim_job(job, 'session ended')
        end
      end)
      if was_spared and not finished then
        -- The remaining jobs lose no retry either.
        redis.call('HSET', key('session', worker), 'spared_until', now)
      end
      return false
    end
    spare(worker, silent_since, grace_ends)
  end
  return #expired < 2 * SPARED_AT_MOST
end
