-- links: links between blocked jobs and their dependencies. A link exists while the dependent is blocked.
-- Both sides store the number of the newest event, which distinguishes the link from an earlier one between
-- the same jobs.
--
-- uses   keys job_records sorted_sets events dependency_policies job_finished now job_states

-- Return whether a group has unfinished members, and whether one has failed.
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

-- Return the unfinished parents; an unknown one counts as finished.
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
      finished_parents[#finished_parents + 1] = { parent, 'failed' }
    end
  end
end

-- Move a blocked job to the back of its queue; the rest of its delay still applies.
local function unblock_job(job)
  local delay = math.max(0, job.since - now)
  leave_state(job)
  job.seq = emit('unlocked', job, nil, nil, nil, { 'delay', delay })
  enqueue(job, delay)
end
