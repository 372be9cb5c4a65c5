-- unlink_job: remove the links of a job that is no longer blocked.
--
-- uses   keys sorted_sets dependency_policies

return function(job)
  local depends = key('depends', job.id)
  local policy = failure_policy(job)
  flush_zset(depends)
  for _, parent in ipairs(redis.call('ZRANGE', depends, 0, -1)) do
    zset_remove(dependents_key(policy, parent), job.id)
  end
  redis.call('DEL', depends)
end
