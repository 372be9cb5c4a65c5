-- session_renew: renew a session that is still alive. A worker whose session has ended must stop, because
-- other workers may already hold the jobs of that worker.
--
-- args   worker token
-- flags  allow-oom
-- uses   keys now sessions
-- reply  milliseconds until the session expires (-1: never), or a refusal
-- error  SESSION_ENDED

if not is_live_session(worker, token) then
  return 'SESSION_ENDED'
end
local ttl = tonumber(redis.call('HGET', key('session', worker), 'ttl'))
if ttl >= 0 then
  redis.call('ZADD', SESSIONS, 'XX', now + ttl, worker)
end
return ttl
