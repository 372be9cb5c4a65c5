-- undepend: blocked jobs no longer depend on these, or on anything if none are given. One that then
-- depends on nothing is unlocked.
--
-- args   parents:packed
-- each   id
-- flags  allow-oom
-- uses   keys jobs places policies links commit
-- reply  for each, its state or why not
-- error  NOT_FOUND WRONG_STATE

local function remove_parents(job)
  local depends, policy = key('depends', job.id), policy_when_failed(job)
  for _, parent in ipairs(parents or {}) do
    lift(depends, parent)
    lift(dependents_key(policy, parent), job.id)
  end
  settle_one(depends)
  if not parents or redis.call('EXISTS', depends) == 0 then
    unlock(job)
  end
end

local answers = {}
for id in each() do
  local job = read_job(id)
  local refusal = not job and 'NOT_FOUND'
    or job.state ~= 'blocked' and not again and 'WRONG_STATE ' .. job.state
  if not refusal and job.state == 'blocked' then
    remove_parents(job)
  end
  answers[#answers + 1] = refusal or job.state
end
return commit(answers)
