-- audit_members: compare a page of the jobs that a queue lists in one state with the records of these jobs.
--
-- args   queue state offset:int count:int
-- flags  no-writes
-- uses   keys set_members settings job_records gates job_states
-- reply  {number of checked members, number of their unique values, {id of a job with links, ...},
--        {id, problem}, ...}

local function may_claim(job)
  return extra(job, 'unique') and job.state ~= 'failed' and job.state ~= 'complete'
end

local function has_claim(job)
  return may_claim(job)
    and redis.call('HGET', key('unique', job.queue), extra(job, 'unique')) == job.id
end

local function unlisted_tag(job)
  for _, tag in ipairs(extra(job, 'tags') or {}) do
    if not redis.call('ZSCORE', key('tag', tag), job.id) or not redis.call('ZSCORE', TAGS, tag) then
      return tag
    end
  end
end

-- Return a problem with a job's unique value, tags or tracking, or nil.
local function reference_fault(job)
  if may_claim(job) and not has_claim(job) then
    return 'does not hold its unique value ' .. extra(job, 'unique')
  elseif unlisted_tag(job) then
    return 'is not listed under its tag ' .. unlisted_tag(job)
  elseif extra(job, 'tracked') and not redis.call('ZSCORE', TRACKED, job.id) then
    return 'is tracked but not listed as tracked'
  end
end

local found = redis.call('ZRANGE', key(state, queue), offset, offset + count - 1, 'WITHSCORES')
local linked = {}
local reply = { #found / 2, 0, linked }

local function is_in_its_group(job)
  local group = extra(job, 'group')
  return not group or job.state == 'complete'
    or tonumber(redis.call('ZSCORE', key('group', group), job.id) or -1) == (state == 'failed' and 1 or 0)
end

local function stands_in_lane(job, name)
  local limits = settings(queue)
  local lane = lane_of(job)
  if lane == '' and (not limits.governed or limits.building) then
    return true
  end
  return redis.call('ZSCORE', lane_key(queue, lane), name)
    and redis.call('HEXISTS', key('lanes', queue), lane) == 1
end

local function runs_behind_its_gates(job)
  for _, gate in ipairs(gates_of_job(job)) do
    if not redis.call('ZSCORE', key('gate', gate), job.id) then
      return false
    end
  end
  return true
end

local function fault(name, score)
  local id = state == 'waiting' and name_in(name) or name
  local job = read_job(id)
  if not job then
    return id, 'is listed as ' .. state .. ' but has no record'
  elseif job.state ~= state or job.queue ~= queue then
    return id, 'is listed as ' .. state .. ' in ' .. queue .. ' but its record says '
      .. job.state .. ' in ' .. job.queue
  elseif job_member(job) ~= name or (state == 'waiting' and tonumber(score) ~= tonumber(waiting_score(job))) then
    return id, 'is listed at a position that does not match its record'
  elseif state == 'waiting' and not stands_in_lane(job, name) then
    return id, 'is waiting but not listed in its lane'
  elseif state == 'running' and not runs_behind_its_gates(job) then
    return id, 'is running but not counted by its limits'
  elseif not is_in_its_group(job) then
    return id, 'is not listed correctly in its group'
  elseif state == 'running' and settings(queue).session then
    local started = redis.call('HGET', key('session', job.worker), 'started')
    if started and tonumber(started) < job.since
      and not redis.call('ZSCORE', key('held', job.worker), held_member(job)) then
      return id, 'is running on worker ' .. job.worker .. ', which does not list it as held'
    end
  elseif state == 'failed' and not redis.call('ZSCORE', key('failures', extra(job, 'failure')[1]), id) then
    return id, 'is failed but not listed under its failure type'
  end
  return id, reference_fault(job)
end

for i = 1, #found, 2 do
  local id, problem = fault(found[i], found[i + 1])
  local job = read_job(id)
  if problem then
    reply[#reply + 1] = { id, problem }
  elseif state == 'blocked' or extra(job, 'awaited') then
    linked[#linked + 1] = job.id
  end
  if job and has_claim(job) then
    reply[2] = reply[2] + 1
  end
end
return reply
