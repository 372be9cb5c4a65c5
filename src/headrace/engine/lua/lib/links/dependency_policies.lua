-- dependency_policies: what dependents may say of a dependency that fails. They are listed apart by policy, so
-- that each list can be seen to as a whole. What a group is waited for as has a name no job can have.
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
