-- session_start: start the session of a worker. Jobs that an earlier session of the same worker still holds
-- are returned first, a bounded number per call. A worker that starts its session again with the same token
-- keeps the leases that no other call has taken. A session with a ttl of -1 never expires.
--
-- args   worker:short_name token ttl:int about
-- flags  allow-oom
-- nonce  always
-- uses   keys now sorted_sets sessions return_job write_back
-- reply  1 if started, 0 if the caller must call again

local ends = ttl >= 0 and now + ttl or 'inf'
if redis.call('HGET', key('session', worker), 'token') == token then
  redis.call('ZADD', SESSIONS, ends, worker)
  return 1
end
if redis.call('ZSCORE', SESSIONS, worker) then
  local finished = end_session(worker, function(job)
    reclaim_job(job, 'session ended')
  end)
  if not finished then
    return write_back(0)
  end
end
zset_add(SESSIONS, worker, ends)
redis.call('HSET', key('session', worker), 'token', token, 'ttl', ttl, 'started', now, 'about', about)
return write_back(1)
