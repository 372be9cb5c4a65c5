-- note_worker: record the time of a call by a worker without a session. Workers without a recorded call during
-- the last `worker_age` (a setting) are removed from the list, a bounded number per call.
--
-- args   worker
-- flags  allow-oom
-- uses   keys now settings
-- reply  1

local REMOVED_AT_MOST = 100

local silent = redis.call('ZRANGE', WORKERS, '-inf', now - settings('').worker_age, 'BYSCORE', 'LIMIT', 0,
  REMOVED_AT_MOST)
if #silent > 0 then
  redis.call('ZREM', WORKERS, unpack(silent))
end
redis.call('ZADD', WORKERS, now, worker)
return 1
