-- reclaim_dead_worker: find a worker whose session expired and reclaim its jobs. True when there is none.
--
-- uses   keys now
-- later  end_dead_session

local function reclaim_dead_worker()
  local dead = redis.call('ZRANGE', SESSIONS, '-inf', now, 'BYSCORE', 'LIMIT', 0, 1)[1]
  if not dead then
    return true
  end
  end_dead_session(dead)
  return false
end
