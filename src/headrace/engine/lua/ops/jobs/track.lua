-- track: publish the events of these jobs from now on. The ids of the jobs stay listed even after the jobs
-- are deleted.
--
-- args   most:int actor:short_name
-- each   id
-- nonce  always
-- uses   keys now job_records operator_events write_back
-- reply  for each job, its state or a refusal
-- error  NOT_FOUND TOO_MANY

local answers = {}
for id in each() do
  local job = read_job(id)
  if not job then
    answers[#answers + 1] = 'NOT_FOUND'
  elseif not redis.call('ZSCORE', TRACKED, id) and redis.call('ZCARD', TRACKED) >= most then
    answers[#answers + 1] = 'TOO_MANY tracked ' .. most
  else
    if not extra(job, 'tracked') then
      redis.call('ZADD', TRACKED, now, id)
      emit_tracking('tracked', id, job, actor)
      set_extra(job, 'tracked', true)
      mark_changed(job)
    end
    answers[#answers + 1] = job.state
  end
end
return write_back(answers)
