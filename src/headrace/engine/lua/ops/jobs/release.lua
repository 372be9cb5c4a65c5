-- release: return jobs to the front or the back of their queues, immediately or after a delay. A worker
-- passes the token of its lease, and an operator passes an empty token. A released job loses no retry, but
-- its releases are counted.
--
-- args   position delay:int reason
-- each   id token
-- flags  allow-oom
-- nonce  always
-- uses   settings job_records check_lease return_job notices write_back
-- reply  for each job, its new state or a refusal
-- error  NOT_FOUND LEASE_LOST WRONG_STATE

local answers = {}
for id, token in each() do
  local job, refusal = check_lease(id, token)
  if job then
    if token == '' then
      notify_worker(job, 'lost')
      job.token = ''
    end
    set_extra(job, 'releases', (extra(job, 'releases') or 0) + 1)
    local where = position ~= '' and position or settings(job.queue).returns
    return_job(job, 'released', where, delay, { 'reason', reason })
    answers[#answers + 1] = job.state
  else
    answers[#answers + 1] = refusal
  end
end
return write_back(answers)
