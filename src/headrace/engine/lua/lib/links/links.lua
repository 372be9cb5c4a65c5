-- links: block jobs until their dependencies have finished. The links between a blocked job and its
-- dependencies are stored on both sides. A link exists while the dependent is blocked. Both sides of a
-- link store the number of the newest event. This number distinguishes the link from an earlier link
-- between the same jobs.
--
-- uses   keys job_records sorted_sets events dependency_policies job_finished now job_states

-- Return whether a group has unfinished members, and whether a member has failed.
local function group_is_open(group, policy)
  local members = key('group', group)
  flush_zset(members)
  local failed = redis.call('ZCOUNT', members, 1, 1)
  local all = redis.call('ZCARD', members)
  return all > (policy == 'run' and failed or 0), failed > 0
end

local function job_is_open(id, policy)
  local job = read_job(id)
  local failed = job and job.state == 'failed'
  return job and job.state ~= 'complete' and not (failed and policy == 'run'), failed
end

-- Return the unfinished parents. An unknown parent counts as finished.
local function open_parents(parents, policy)
  local open = {}
  read_jobs(parents)
  for _, parent in ipairs(parents) do
    local group = group_of(parent)
    local is_open, failed
    if group then
      is_open, failed = group_is_open(group, policy)
    else
      is_open, failed = job_is_open(parent, policy)
    end
    if is_open then
      open[#open + 1] = { parent, failed }
    end
  end
  return open
end

local function link(job, open)
  if not number then
    open_log()
  end
  local policy = failure_policy(job)
  for _, one in ipairs(open) do
    local parent, failed = one[1], one[2]
    zset_add(key('depends', job.id), parent, number)
    zset_add(dependents_key(policy, parent), job.id, number)
    local parent_job = not group_of(parent) and read_job(parent)
    if parent_job then
      set_extra(parent_job, 'awaited', true)
      mark_changed(parent_job)
    end
    if failed and policy ~= 'wait' then
      add_finished_parent(parent, 'failed')
    end
  end
end

-- Move a blocked job to the back of its queue. If the delay of the job has not ended, the rest of the delay
-- still applies.
local function unblock_job(job)
  local delay = math.max(0, job.since - now)
  leave_state(job)
  job.seq = emit('unlocked', job, nil, nil, nil, { 'delay', delay })
  enqueue(job, delay)
end

-- Block a job until its dependencies have finished. Return false if all dependencies have already
-- finished.
local function block_job(job, parents, delay)
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

-- Remove the links of a job that is no longer blocked.
local function unlink_job(job)
  local depends = key('depends', job.id)
  local policy = failure_policy(job)
  flush_zset(depends)
  for _, parent in ipairs(redis.call('ZRANGE', depends, 0, -1)) do
    zset_remove(dependents_key(policy, parent), job.id)
  end
  redis.call('DEL', depends)
end
