-- note_worker: note that a worker without a session is alive. Workers that have been silent for longer than
-- the setting `worker_age` are removed, a bounded number per call.
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
