-- session_end: ends a session, one's own by its token or, with an empty token, anybody's, as if it
-- had lapsed. What the worker held goes back to the front, in bounded steps: 0 means call again. Who
-- closes its own session loses no retry by it, and the events say so.
--
-- args   worker token
-- flags  allow-oom
-- uses   keys sessions return_job reclaim_job notices write_back
-- reply  1, 0 when it is to be called again, or why not
-- error  SESSION_ENDED

local current = redis.call('HGET', key('session', worker), 'token')
if not redis.call('ZSCORE', SESSIONS, worker) or (token ~= '' and current and current ~= token) then
  return again and 1 or 'SESSION_ENDED'
end
local finished = end_session(worker, function(job)
  if token == '' then
    return reclaim_job(job, 'session ended')
  end
  notify_worker(job, 'lost')
  job.token = ''
  return_job(job, 'lost', 'front', 0, { 'reason', 'session closed' })
end)
return write_back(finished and 1 or 0)
