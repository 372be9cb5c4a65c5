-- session_serve: a worker says that it serves a queue. It is told at once if work waits there.
--
-- args   worker token queue
-- flags  allow-oom
-- uses   keys now sessions
-- reply  how many jobs wait, or why not
-- error  SESSION_ENDED

if not is_live_session(worker, token) then
  return 'SESSION_ENDED'
end
redis.call('ZADD', key('serves', worker), now, queue)
return redis.call('ZCARD', key('waiting', queue))
