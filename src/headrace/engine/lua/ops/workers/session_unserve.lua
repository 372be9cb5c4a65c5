-- session_unserve: unregister a worker from one queue. The jobs that the worker holds from that queue
-- return to the front of the queue, a bounded number per call.
--
-- args   worker token queue
-- flags  allow-oom
-- nonce  always
-- uses   keys sessions return_job write_back
-- reply  1 if finished, 0 if the caller must call again, or a refusal
-- error  SESSION_ENDED

if not is_live_session(worker, token) then
  return 'SESSION_ENDED'
end
redis.call('ZREM', key('serves', worker), queue)
local jobs, finished = jobs_held_by(worker, AT_MOST, queue)
for _, job in ipairs(jobs) do
  end_lease(job)
  return_job(job, 'released', 'front', 0, { 'reason', 'unserved' })
end
return write_back(finished and 1 or 0)
