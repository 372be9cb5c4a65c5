-- untrack: stop tracking jobs and remove their ids from the list.
--
-- each   id
-- flags  allow-oom
-- uses   keys job_records write_back
-- reply  1

for id in each() do
  local job = read_job(id)
  redis.call('ZREM', TRACKED, id)
  if job and extra(job, 'tracked') then
    set_extra(job, 'tracked', nil)
    mark_changed(job)
  end
end
return write_back(1)
