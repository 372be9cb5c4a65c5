-- block_job: block a job until its dependencies have finished. False if they already have.
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
