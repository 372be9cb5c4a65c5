-- reclaim: finds a worker whose session lapsed and buries it. True when nobody had to be.
--
-- uses   keys now
-- later  bury

local function reclaim()
  local dead = redis.call('ZRANGE', SESSIONS, '-inf', now, 'BYSCORE', 'LIMIT', 0, 1)[1]
  if not dead then
    return true
  end
  bury(dead)
  return false
end
