-- result: return the result of a job with its data. Taking it removes it for all other clients.
--
-- args   id take:flag
-- flags  allow-oom
-- uses   keys job_records job_states results write_back
-- reply  {state or '', 1 if there is a result else 0, result, data}

local job = read_job(id)
if not job then
  return { '', 0, '', '' }
end
local value = redis.call('GET', key('result', id))
if not value then
  return { job.state, 0, '', '' }
end
local reply = { job.state, 1, value, payload(job) }
if take then
  drop_result(job)
  if not redis.call('ZSCORE', key('complete', job.queue), id) then
    delete_job(job)
  end
  write_back()
end
return reply
