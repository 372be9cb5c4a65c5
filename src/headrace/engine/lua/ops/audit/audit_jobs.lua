-- audit_jobs: find jobs that are not listed in the state that their record names.
--
-- each   id
-- flags  no-writes
-- uses   keys job_records set_members
-- reply  {id, problem}, ...

local reply = {}
for id in each() do
  local job = read_job(id)
  if job and not redis.call('ZSCORE', key(job.state, job.queue), job_member(job))
    and not (job.state == 'complete' and redis.call('EXISTS', key('result', id)) == 1) then
    reply[#reply + 1] = { id, 'is recorded as ' .. job.state .. ' in ' .. job.queue .. ' but not listed there' }
  end
end
return reply
