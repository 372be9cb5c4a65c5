-- session_renew: keeps a session alive, if it still is. A worker whose session has ended must not
-- simply go on: its jobs may be with others.
--
-- args   worker token
-- flags  allow-oom
-- uses   keys now sessions
-- reply  milliseconds until it ends (-1 never) or why not
-- error  SESSION_ENDED

if not is_live_session(worker, token) then
  return 'SESSION_ENDED'
end
local ttl = tonumber(redis.call('HGET', key('session', worker), 'ttl'))
if ttl >= 0 then
  redis.call('ZADD', SESSIONS, 'XX', now + ttl, worker)
end
return ttl
