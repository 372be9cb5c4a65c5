-- update_dependents: unblock the dependents of finished jobs, or cancel or fail them, as their policy says.
-- The number per script is bounded. The rest is moved to lists of its own and put on the agenda, whatever
-- happens to the record of the finished job or to a new job with its id.
--
-- uses   keys now job_records sorted_sets dependency_policies job_finished links cancel_job fail_job

local FOLLOW_AT_MOST = 256

-- Cancelling or failing a job costs more if it has many dependencies.
local LINKS_LIKE_A_JOB = 40

-- What happens to a dependent, by the ending of its dependency and its own policy.
local ACTIONS = {
  completed = { wait = 'satisfy', run = 'satisfy', cancel = 'satisfy', fail = 'satisfy' },
  failed = { run = 'satisfy', cancel = 'cancel', fail = 'fail' },
  gone = { wait = 'fail', run = 'satisfy', cancel = 'cancel', fail = 'fail' },
  cascade = { wait = 'cancel', run = 'cancel', cancel = 'cancel', fail = 'cancel' },
}

local left = FOLLOW_AT_MOST

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
    unlocking[#unlocking + 1] = name
  end
end

-- Dependents of a group are unblocked when it has no members left, or only failed ones.
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
  left = left - 1
  if not job or redis.call('ZSCORE', key('depends', id), parent) ~= linked_at then
    return
  elseif action == 'satisfy' then
    satisfy_link(job, parent)
  else
    left = left - math.floor(redis.call('ZCARD', key('depends', id)) / LINKS_LIKE_A_JOB)
    apply_ending(job, parent, ending, action)
  end
end

-- Process a list of dependents. True when none is left.
local function process_list(name)
  local ending, policy, parent = string.match(name, '^(%l+):(%l+):(.*)$')
  local where, action = key('unlocking', name), ACTIONS[ending][policy]
  local found = redis.call('ZRANGE', where, 0, left - 1, 'WITHSCORES')
  local ids = {}
  for i = 1, #found, 2 do
    ids[#ids + 1] = found[i]
  end
  read_jobs(ids)
  local processed = 0
  while left > 0 and processed < #ids do
    processed = processed + 1
    process_dependent(ids[processed], found[2 * processed], parent, ending, action)
  end
  redis.call('ZREMRANGEBYRANK', where, 0, processed - 1)
  return redis.call('EXISTS', where) == 0
end

return function()
  flush_zsets()
  while finished_parents[1] or unlocking[1] do
    local ended, names = finished_parents, unlocking
    finished_parents, unlocking = {}, {}
    for _, one in ipairs(ended) do
      detach_all_dependents(one[1], one[2])
    end
    for _, name in ipairs(unlocking) do
      names[#names + 1] = name
    end
    unlocking = {}
    for _, name in ipairs(names) do
      if left <= 0 or not process_list(name) then
        zset_add(AGENDA, 'unlock:' .. name, now)
      end
    end
  end
end
