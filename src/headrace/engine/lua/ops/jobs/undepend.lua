-- undepend: remove these dependencies from blocked jobs, or remove all dependencies if no dependencies are
-- passed. A job that has no dependencies left is unblocked.
--
-- args   parents:packed
-- each   id
-- flags  allow-oom
-- nonce  always
-- uses   keys job_records sorted_sets dependency_policies links write_back
-- reply  for each job, its state or a refusal
-- error  NOT_FOUND WRONG_STATE

local function remove_parents(job)
  local depends, policy = key('depends', job.id), failure_policy(job)
  for _, parent in ipairs(parents or {}) do
    zset_remove(depends, parent)
    zset_remove(dependents_key(policy, parent), job.id)
  end
  flush_zset(depends)
  if not parents or redis.call('EXISTS', depends) == 0 then
    unblock_job(job)
  end
end

local answers = {}
for id in each() do
  local job = read_job(id)
  local refusal = not job and 'NOT_FOUND'
    or job.state ~= 'blocked' and 'WRONG_STATE ' .. job.state
  if not refusal then
    remove_parents(job)
  end
  answers[#answers + 1] = refusal or job.state
end
return write_back(answers)
