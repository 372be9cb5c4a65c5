-- dependency_policies: the policies that decide what happens to a dependent when its dependency fails.
-- Dependents with different policies are in different lists, so that a list can be processed as a whole.
-- The name under which jobs wait for a group begins with a zero byte, so this name cannot be the id of a
-- job.
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
