-- block_job: a job is blocked until those that it depends on are over. False if they are.
--
-- uses   now job_states links dependency_policies

return function(job, parents, delay)
  local open = open_parents(parents, failure_policy(job))
  if #open == 0 then
    return false
  end
  job.worker = ''
  job.since = now + delay
  enter_state(job, 'blocked', now)
  link(job, open)
  return true
end
