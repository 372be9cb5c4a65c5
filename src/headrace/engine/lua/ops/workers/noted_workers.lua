-- noted_workers: return a page of the workers without a session that have not been silent for longer than
-- the setting `worker_age`, the worker with the newest call first.
--
-- args   offset:int count:int
-- flags  no-writes
-- uses   keys now settings
-- reply  {worker, ...}

return redis.call('ZRANGE', WORKERS, '+inf', '(' .. now - settings('').worker_age, 'BYSCORE', 'REV', 'LIMIT',
  offset, count)
