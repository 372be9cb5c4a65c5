-- timeout: revoke leases on behalf of an operator. The jobs return to their queues before all other waiting jobs,
-- even before jobs with a more urgent priority. Their workers are notified.
--
-- each   id
-- flags  allow-oom
-- nonce  always
-- uses   set_members job_records check_lease return_job notices write_back
-- reply  for each job, its new state or a refusal
-- error  NOT_FOUND WRONG_STATE

local answers = {}
for id in each() do
  local job, refusal = check_lease(id, '')
  if job then
    notify_worker(job, 'lost')
    job.token = ''
    set_extra(job, 'first', ABOVE_ALL_NUMBERS)
    return_job(job, 'lost', 'front', 0, { 'reason', 'operator' })
    answers[#answers + 1] = job.state
  else
    answers[#answers + 1] = refusal
  end
end
return write_back(answers)
