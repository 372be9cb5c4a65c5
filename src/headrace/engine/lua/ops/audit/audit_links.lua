-- audit_links: check that both sides of each link agree, for a page of the dependencies and dependents of
-- each job.
--
-- args   offset:int count:int
-- each   id
-- flags  no-writes
-- uses   keys job_records dependency_policies links
-- reply  {1 if more pages follow else 0, {id, problem}, ...}

local last = offset + count - 1
local reply = { 0 }

local function page(where)
  local found = redis.call('ZRANGE', where, offset, last, 'WITHSCORES')
  if #found == 2 * count then
    reply[1] = 1
  end
  return found
end

local function wrong(id, problem)
  reply[#reply + 1] = { id, problem }
end

local function parent_name(parent)
  local group = group_of(parent)
  return group and 'group ' .. group or parent
end

local function is_being_unlocked(id, policy, parent, linked)
  for _, ending in ipairs({ 'completed', 'failed', 'gone', 'cascade' }) do
    if redis.call('ZSCORE', key('unlocking', ending .. ':' .. policy .. ':' .. parent), id) == linked then
      return true
    end
  end
end

local function check_members(group)
  local found = page(key('group', group))
  for i = 1, #found, 2 do
    local member_job = read_job(found[i])
    if not member_job or extra(member_job, 'group') ~= group or member_job.state == 'complete' then
      wrong(found[i], 'is listed in group ' .. group .. ' but does not belong there')
    end
  end
end

local function check_parents(job)
  local policy = failure_policy(job)
  local found = page(key('depends', job.id))
  if offset == 0 and not found[1] then
    wrong(job.id, 'is blocked but depends on nothing')
  end
  for i = 1, #found, 2 do
    local parent = found[i]
    if redis.call('ZSCORE', dependents_key(policy, parent), job.id) == found[i + 1] then
      if not open_parents({ parent }, policy)[1] then
        wrong(job.id, 'depends on ' .. parent_name(parent) .. ', which has finished')
      end
    elseif not is_being_unlocked(job.id, policy, parent, found[i + 1]) then
      wrong(job.id, 'depends on ' .. parent_name(parent) .. ', which does not list it as a dependent')
    end
    if group_of(parent) then
      check_members(group_of(parent))
    end
  end
end

local function check_dependents(job)
  for _, policy in ipairs(POLICIES) do
    local found = page(dependents_key(policy, job.id))
    for i = 1, #found, 2 do
      local dependent_job = read_job(found[i])
      if not dependent_job or dependent_job.state ~= 'blocked'
        or redis.call('ZSCORE', key('depends', found[i]), job.id) ~= found[i + 1] then
        wrong(found[i], 'is listed as depending on ' .. job.id .. ' but does not')
      end
    end
  end
end

for id in each() do
  local job = read_job(id)
  if job and job.state == 'blocked' then
    check_parents(job)
  end
  if job and extra(job, 'awaited') then
    check_dependents(job)
  end
end
return reply
