-- hold_back: a job is blocked until those that it depends on are over. False if they are.
--
-- uses   now move links policies

return function(job, parents, delay)
  local open = open_parents(parents, policy_when_failed(job))
  if #open == 0 then
    return false
  end
  job.worker = ''
  job.since = now + delay
  enter(job, 'blocked', now)
  link(job, open)
  return true
end
