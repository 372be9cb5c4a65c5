-- take_result: return the result and the data of a job, and delete the result, so that no other client can
-- get the result.
--
-- args   id
-- flags  allow-oom
-- nonce  always
-- uses   keys job_states results write_back
-- reply  {state or '', 1 if the job has a result else 0, result, data}

local reply, job = stored_result(id)
if job then
  drop_result(job)
  if not redis.call('ZSCORE', key('complete', job.queue), id) then
    delete_job(job)
  end
  write_back()
end
return reply
