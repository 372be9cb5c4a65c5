-- timeout: an operator takes leases back now; the jobs return to the front, their holders are told.
--
-- each   id
-- flags  allow-oom
-- uses   jobs held give_back notices commit
-- reply  for each, its new state or why not
-- error  NOT_FOUND WRONG_STATE DONE

local answers = {}
for id in each() do
  local job, refusal, done = held(id, '')
  if job then
    tell_worker(job, 'lost')
    job.token = ''
    give_back(job, 'lost', 'front', 0, { 'reason', 'operator' })
    answers[#answers + 1] = job.state
  else
    answers[#answers + 1] = done or refusal
  end
end
return commit(answers)
