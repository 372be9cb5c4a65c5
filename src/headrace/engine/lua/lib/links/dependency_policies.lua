-- dependency_policies: what happens to a dependent when its dependency fails. Dependents are listed
-- separately by policy, so that a list can be processed as a whole. The name under which jobs wait for a
-- group cannot be the id of a job.
--
-- uses   keys job_records

local POLICIES = { 'wait', 'run', 'cancel', 'fail' }

local function failure_policy(job)
  return extra(job, 'if_fails') or 'wait'
end

local function dependents_key(policy, parent)
  return key('dependents', policy .. ':' .. parent)
end

local function group_parent(group)
  return '\0' .. group
end

local function group_of(parent)
  return string.sub(parent, 1, 1) == '\0' and string.sub(parent, 2)
end
