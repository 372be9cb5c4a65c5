-- complete: jobs end well, by their token, or by an operator where the token is empty. With a next
-- queue they move on to it in the same step.
--
-- args   next:optional delay:int
-- each   id token result:optional data:optional
-- uses   jobs held complete_job notices commit
-- reply  for each, its new state or why not
-- error  NOT_FOUND LEASE_LOST WRONG_STATE DONE

local answers = {}
for id, token, result, data in each() do
  local job, refusal = held_or_operated(id, token)
  if job and token == '' then
    tell_worker(job, 'lost')
  end
  answers[#answers + 1] = job and complete_job(job, result, data, next, delay) or refusal
end
return commit(answers)
