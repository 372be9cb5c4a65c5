-- complete: jobs end well, by their token, or by an operator where the token is empty. With a next
-- queue they move on to it in the same step.
--
-- args   next_queue:optional delay:int
-- each   id token result:optional data:optional
-- uses   jobs held complete_job notices commit
-- reply  for each, its new state or why not
-- error  NOT_FOUND LEASE_LOST WRONG_STATE DONE

local ids = {}
for id in each() do
  ids[#ids + 1] = id
end
read_jobs(ids)
local answers = {}
for id, token, result, data in each() do
  local job, refusal = held(id, token)
  if job and token == '' then
    tell_worker(job, 'lost')
  end
  answers[#answers + 1] = job and complete_job(job, result, data, next_queue, delay) or refusal
end
return commit(answers)
