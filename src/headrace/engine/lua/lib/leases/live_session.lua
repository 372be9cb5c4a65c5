-- live_session: whether a worker's session is still the one with this token, and alive.
--
-- uses   keys now

local function live_session(worker, token)
  local ends = redis.call('ZSCORE', SESSIONS, worker)
  return ends and tonumber(ends) > now and redis.call('HGET', key('session', worker), 'token') == token
end
