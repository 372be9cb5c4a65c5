-- noted_workers: return a page of the workers without a session that note_worker has recorded during the last
-- `worker_age` (a setting). The worker with the newest call comes first.
--
-- args   offset:int count:int
-- flags  no-writes
-- uses   keys now settings
-- reply  {worker, ...}

return redis.call('ZRANGE', WORKERS, '+inf', '(' .. now - settings('').worker_age, 'BYSCORE', 'REV', 'LIMIT',
  offset, count)
