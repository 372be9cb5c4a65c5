-- move: the one place where a job leaves a state and enters another, with its books.
--
-- uses   keys now settings jobs places books notices in_lanes numbered tags
-- later  unlink

-- whether a worker has a session; only then it is listed what the worker holds.

local sessions_known = {}

local function in_session(worker)
  local known_session = sessions_known[worker]
  if known_session == nil then
    known_session = redis.call('ZSCORE', SESSIONS, worker) and true or false
    sessions_known[worker] = known_session
  end
  return known_session
end

local function leave(job, known_member)
  local queue, state = job.queue, job.state
  lift(key(state, queue), known_member or job_member(job))
  book(queue, state, -1)
  if state == 'waiting' and is_in_lane(job) then
    lanes('step_out', job, known_member or job_member(job))
  elseif state == 'running' then
    lift(key('held', job.worker), held_member(job))
    if extra(job, 'key') or extra(job, 'throttles') then
      lanes('leave_gates', job)
    end
    if settings(queue).concurrency then
      wake(queue, 1)
    end
  elseif state == 'blocked' then
    unlink(job)
  end
end

local function enter(job, state, score)
  local queue = job.queue
  job.state = state
  place(key(state, queue), job_member(job), score)
  book(queue, state, 1)
  if state == 'scheduled' then
    expect(queue, score)
  elseif state == 'waiting' and is_in_lane(job) then
    lanes('step_in', job, job_member(job))
  elseif state == 'running' and in_session(job.worker) then
    place(key('held', job.worker), held_member(job), 0)
  end
  if extra(job, 'group') and state ~= 'complete' then
    place(key('group', extra(job, 'group')), job.id, state == 'failed' and 1 or 0)
  end
  touch(job)
end

-- A waiting job has another priority.
local function line_up_anew(job)
  place(key('waiting', job.queue), job_member(job), job.priority)
  if is_in_lane(job) then
    lanes('step_in', job, job_member(job))
  end
end

local function forget(job)
  if extra(job, 'start_by') then
    lift(AGENDA, 'start:' .. job.id)
  end
  if extra(job, 'tags') then
    set_tags(job, {})
  end
  erase(job.id)
end

-- puts a job in the line of its queue, at once or after a delay.

local function line_up(job, delay)
  job.worker = ''
  job.since = now + delay
  if delay > 0 then
    enter(job, 'scheduled', job.since)
  else
    enter(job, 'waiting', job.priority)
    wake(job.queue, 1)
  end
end
