-- unlink: a job that is no longer blocked waits for nobody.
--
-- uses   keys places policies

return function(job)
  local depends = key('depends', job.id)
  local policy = policy_when_failed(job)
  settle_one(depends)
  for _, parent in ipairs(redis.call('ZRANGE', depends, 0, -1)) do
    lift(dependents_key(policy, parent), job.id)
  end
  redis.call('DEL', depends)
end
