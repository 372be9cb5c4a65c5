-- move: the one place where a job leaves a state and enters another, with its books.
--
-- uses   keys now jobs places books

local failure_counts = {}

-- Equal priorities are served by seq: the padded number makes members sort by it.
local function member(job)
  if job.state == 'waiting' then
    return string.format('%016.0f', job.seq) .. job.id
  end
  return job.id
end

local function list_failure(job, by)
  local kind = job.failure[1]
  failure_counts[kind] = (failure_counts[kind] or 0) + by
  if by > 0 then
    place(key('failures', kind), job.id, now)
  else
    lift(key('failures', kind), job.id)
  end
end

local function holding(job)
  return key('held', job.worker), job.queue .. '\0' .. job.id
end

local function leave(job)
  lift(key(job.state, job.queue), member(job))
  count(job.queue, job.state, -1)
  if job.state == 'running' then
    lift(holding(job))
  elseif job.state == 'failed' then
    list_failure(job, -1)
  end
end

local function enter(job, state, score)
  job.state = state
  place(key(state, job.queue), member(job), score)
  count(job.queue, state, 1)
  if state == 'running' then
    local held_by, what = holding(job)
    place(held_by, what, 0)
  elseif state == 'failed' then
    list_failure(job, 1)
  end
  touch(job)
end

local function forget(job)
  if job.start_by then
    lift(AGENDA, 'start:' .. job.id)
  end
  erase(job)
end

local function write_failure_counts()
  for kind, by in pairs(failure_counts) do
    if by ~= 0 and tonumber(redis.call('ZINCRBY', FAILURE_TYPES, by, kind)) <= 0 then
      redis.call('ZREM', FAILURE_TYPES, kind)
    end
  end
end
