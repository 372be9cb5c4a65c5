-- complete: jobs end well, by their token, or by an operator where the token is empty. With a next
-- queue they move on to it in the same step. What is given is empty or packs a result and new data,
-- false where there is none.
--
-- args   next_queue:optional delay:int
-- each   id token given
-- uses   jobs held complete_job notices commit
-- reply  for each, its new state or why not
-- error  NOT_FOUND LEASE_LOST WRONG_STATE DONE

local ids = {}
for id in each() do
  ids[#ids + 1] = id
end
read_jobs(ids)
local answers = {}
for id, token, given in each() do
  local job, refusal, done = held(id, token)
  if job and token == '' then
    tell_worker(job, 'lost')
  end
  answers[#answers + 1] = job and complete_job(job, given, next_queue, delay)
    or done or refusal
end
return commit(answers)
