-- session_serve: register that a worker serves a queue. The reply is the number of jobs that wait in the
-- queue.
--
-- args   worker token queue
-- flags  allow-oom
-- nonce  always
-- uses   keys now sessions
-- reply  the number of waiting jobs, or a refusal
-- error  SESSION_ENDED

if not is_live_session(worker, token) then
  return 'SESSION_ENDED'
end
redis.call('ZADD', key('serves', worker), now, queue)
return redis.call('ZCARD', key('waiting', queue))
