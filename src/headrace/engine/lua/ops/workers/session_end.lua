-- session_end: end a session. With a token, the caller ends its own session. With an empty token, the call
-- ends the session of any worker, as if the session had expired. The jobs of the worker return to the front
-- of their queues, a bounded number per call. If a worker closes its own session, the jobs of that worker
-- lose no retries, and the events have the reason `session closed`.
--
-- args   worker token
-- flags  allow-oom
-- nonce  always
-- uses   keys sessions return_job write_back
-- reply  1 if finished, 0 if the caller must call again, or a refusal
-- error  SESSION_ENDED

local current = redis.call('HGET', key('session', worker), 'token')
if not redis.call('ZSCORE', SESSIONS, worker) or (token ~= '' and current and current ~= token) then
  return 'SESSION_ENDED'
end
local finished = end_session(worker, function(job)
  if token == '' then
    return reclaim_job(job, 'session ended')
  end
  take_back(job, 'session closed')
end)
return write_back(finished and 1 or 0)
