-- untrack: stop tracking jobs and remove their ids from the list.
--
-- args   actor:short_name
-- each   id
-- flags  allow-oom
-- nonce  always
-- uses   keys job_records operator_events write_back
-- reply  1

for id in each() do
  local job = read_job(id)
  if redis.call('ZREM', TRACKED, id) == 1 then
    emit_tracking('untracked', id, job, actor)
  end
  if job and extra(job, 'tracked') then
    set_extra(job, 'tracked', nil)
    mark_changed(job)
  end
end
return write_back(1)
