-- move: the one place where a job leaves a state and enters another, with its books.
--
-- uses   keys now jobs places books in_session

-- Equal priorities are served by seq: the padded number makes members sort by it.
local function member(job)
  if job.state == 'waiting' then
    return string.format('%016.0f', job.seq) .. job.id
  end
  return job.id
end

local function held_member(job)
  return job.queue .. '\0' .. job.id
end

local function leave(job, known_member)
  local queue, state = job.queue, job.state
  lift(key(state, queue), known_member or member(job))
  book(queue, state, -1)
  if state == 'running' then
    lift(key('held', job.worker), held_member(job))
  end
end

local function enter(job, state, score)
  local queue = job.queue
  job.state = state
  place(key(state, queue), member(job), score)
  book(queue, state, 1)
  if state == 'running' and in_session(job.worker) then
    place(key('held', job.worker), held_member(job), 0)
  end
  touch(job)
end

local function forget(job)
  if extra(job, 'start_by') then
    lift(AGENDA, 'start:' .. job.id)
  end
  erase(job.id)
end
