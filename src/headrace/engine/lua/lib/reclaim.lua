-- reclaim: what dead workers held goes back to the front. True when nothing is left to reclaim.
--
-- uses   keys now end_session lose

local function reclaim()
  local dead = redis.call('ZRANGE', SESSIONS, '-inf', now, 'BYSCORE', 'LIMIT', 0, 1)[1]
  if not dead then
    return true
  end
  end_session(dead, function(job)
    lose(job, 'session ended')
  end)
  return false
end
