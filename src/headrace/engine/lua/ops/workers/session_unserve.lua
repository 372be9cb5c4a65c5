-- session_unserve: a worker stops serving one queue; what it holds of it goes back to the front, in
-- bounded steps: 0 means call again.
--
-- args   worker token queue
-- flags  allow-oom
-- uses   keys end_session jobs give_back notices commit
-- reply  1, 0 when it is to be called again, or why not
-- error  SESSION_ENDED

if not live_session(worker, token) then
  return 'SESSION_ENDED'
end
redis.call('ZREM', key('serves', worker), queue)
local jobs, finished = worker_jobs(worker, '[' .. queue .. '\0', '(' .. queue .. '\1')
for _, job in ipairs(jobs) do
  tell_worker(job, 'lost')
  job.token = ''
  give_back(job, 'released', 'front', 0, { 'reason', 'unserved' })
end
return commit(finished and 1 or 0)
