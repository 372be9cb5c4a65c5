-- update_dependents: unblock, cancel or fail the dependents of finished jobs, according to the policy of
-- each dependent. A script processes a bounded number of dependents. The other dependents are moved to
-- separate lists, and the agenda processes these lists. The separate lists ensure that no dependent is
-- forgotten if the finished job is deleted or a new job gets the same id.
--
-- uses   keys now set_members job_records sorted_sets dependency_policies job_finished links
-- uses   cancel_and_expire failures

local FOLLOW_AT_MOST = 256

-- Cancelling or failing a job takes longer if the job has many dependencies. When a script counts the jobs that
-- it may still process, this many dependencies count as one more job.
local LINKS_LIKE_A_JOB = 40

-- For each ending of a dependency and each policy of a dependent: the action on the dependent.
local ACTIONS = {
  completed = { wait = 'satisfy', run = 'satisfy', cancel = 'satisfy', fail = 'satisfy' },
  failed = { run = 'satisfy', cancel = 'cancel', fail = 'fail' },
  gone = { wait = 'fail', run = 'satisfy', cancel = 'cancel', fail = 'fail' },
  cascade = { wait = 'cancel', run = 'cancel', cancel = 'cancel', fail = 'cancel' },
}

local dependents_left = FOLLOW_AT_MOST

local function detach_dependents(parent, ending, policy)
  local from = dependents_key(policy, parent)
  flush_zset(from)
  if redis.call('EXISTS', from) == 1 then
    local name = ending .. ':' .. policy .. ':' .. parent
    local to = key('unlocking', name)
    if redis.call('RENAMENX', from, to) == 0 then
      redis.call('ZUNIONSTORE', to, 2, to, from, 'AGGREGATE', 'MAX')
      redis.call('DEL', from)
    end
    process_list_later(name)
  end
end

-- Dependents of a group are unblocked when the group has no members left. With the policy `run`, failed
-- members are ignored.
local function detach_group_dependents(parent, ending, group)
  local members = key('group', group)
  flush_zset(members)
  local all = redis.call('ZCARD', members)
  local live = redis.call('ZCOUNT', members, 0, 0)
  for _, policy in ipairs(POLICIES) do
    if policy == 'run' and live == 0 or ending == 'completed' and all == 0 then
      detach_dependents(parent, 'completed', policy)
    elseif policy ~= 'run' and ending ~= 'completed' and ACTIONS[ending][policy] then
      detach_dependents(parent, ending, policy)
    end
  end
end

local function detach_all_dependents(parent, ending)
  local group = group_of(parent)
  if group then
    return detach_group_dependents(parent, ending, group)
  end
  for _, policy in ipairs(POLICIES) do
    if ACTIONS[ending][policy] then
      detach_dependents(parent, ending, policy)
    end
  end
end

local function satisfy_link(job, parent)
  redis.call('ZREM', key('depends', job.id), parent)
  if redis.call('EXISTS', key('depends', job.id)) == 0 then
    unblock_job(job)
  end
end

local function apply_ending(job, parent, ending, action)
  local group = group_of(parent)
  local reason = ending == 'cascade' and 'cascade' or 'dependency ' .. ending
  if action == 'cancel' then
    cascading = ending == 'cascade'
    cancel_job(job, reason)
    cascading = false
  else
    fail_job(job, reason, (group and 'a member of group ' .. group or 'job ' .. parent)
      .. (ending == 'failed' and ' failed' or ' is gone and was never completed'), reason)
  end
end

local function process_dependent(id, linked_at, parent, ending, action)
  local job = read_job(id)
  dependents_left = dependents_left - 1
  if not job or redis.call('ZSCORE', key('depends', id), parent) ~= linked_at then
    return
  elseif action == 'satisfy' then
    satisfy_link(job, parent)
  else
    dependents_left = dependents_left - math.floor(redis.call('ZCARD', key('depends', id)) / LINKS_LIKE_A_JOB)
    apply_ending(job, parent, ending, action)
  end
end

-- Process a list of dependents. Return true if no dependents are left.
local function process_list(name)
  local ending, policy, parent = string.match(name, '^(%l+):(%l+):(.*)$')
  local where, action = key('unlocking', name), ACTIONS[ending][policy]
  local found = redis.call('ZRANGE', where, 0, dependents_left - 1, 'WITHSCORES')
  local ids = ids_in(found)
  read_jobs(ids)
  local processed = 0
  while dependents_left > 0 and processed < #ids do
    processed = processed + 1
    process_dependent(ids[processed], found[2 * processed], parent, ending, action)
  end
  redis.call('ZREMRANGEBYRANK', where, 0, processed - 1)
  return redis.call('EXISTS', where) == 0
end

local function update_dependents()
  flush_zsets()
  while finished_parents or unlocking do
    local ended, names = finished_parents or {}, unlocking or {}
    finished_parents, unlocking = nil, nil
    for _, one in ipairs(ended) do
      detach_all_dependents(one[1], one[2])
    end
    for _, name in ipairs(unlocking or {}) do
      names[#names + 1] = name
    end
    unlocking = nil
    for _, name in ipairs(names) do
      if dependents_left <= 0 or not process_list(name) then
        zset_add(AGENDA, 'unlock:' .. name, now)
      end
    end
  end
end
