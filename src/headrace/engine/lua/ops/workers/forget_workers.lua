-- forget_workers: remove workers from the list of workers without a session.
--
-- each   worker
-- flags  allow-oom
-- uses   keys
-- reply  1

for worker in each() do
  redis.call('ZREM', WORKERS, worker)
end
return 1
