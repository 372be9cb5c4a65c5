-- reclaim_dead_worker: finds a worker whose session lapsed and buries it. True when nobody had to be.
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
