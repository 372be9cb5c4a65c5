-- session_end: end a session: the caller's own by its token, or any worker's with an empty token, as if it
-- had expired. Its jobs return to the front, in bounded steps: 0 means call again. A worker that closes its
-- own session loses no retries; the events have the reason `session closed`.
--
-- args   worker token
-- flags  allow-oom
-- uses   keys sessions return_job reclaim_job notices write_back
-- reply  1, 0 to call again, or a refusal
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
