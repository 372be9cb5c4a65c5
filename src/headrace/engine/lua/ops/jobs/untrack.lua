-- untrack: these jobs are tracked no longer, and their ids no longer listed.
--
-- each   id
-- flags  allow-oom
-- uses   keys jobs commit
-- reply  1

for id in each() do
  local job = read_job(id)
  redis.call('ZREM', TRACKED, id)
  if job and extra(job, 'tracked') then
    set_extra(job, 'tracked', nil)
    touch(job)
  end
end
return commit(1)
