-- job_states: move jobs from one state to another and update the books. Only
-- these functions and the short paths change the state of a job.
--
-- uses   lanes keys now settings job_records remembered_answers sorted_sets books notices lane_access set_members tags
-- uses   links

local known_sessions

-- Return whether a worker has a session. Leases are listed by worker only if the worker has a session.
local function has_session(worker)
  known_sessions = known_sessions or {}
  local known_session = known_sessions[worker]
  if known_session == nil then
    known_session = redis.call('ZSCORE', SESSIONS, worker) and true or false
    known_sessions[worker] = known_session
  end
  return known_session
end

local function leave_state(job, known_member)
  local queue, state = job.queue, job.state
  zset_remove(key(state, queue), known_member or job_member(job))
  book(queue, state, -1)
  if state == 'waiting' and is_in_lane(job) then
    step_out(job, known_member or job_member(job))
  end
  if state == 'waiting' and extra(job, 'first') then
    set_extra(job, 'first', nil)
  elseif state == 'running' then
    zset_remove(key('held', job.worker), held_member(job))
    if extra(job, 'key') or extra(job, 'throttles') then
      leave_gates(job)
    end
    if settings(queue).concurrency then
      wake(queue, 1)
    end
  elseif state == 'blocked' then
    unlink_job(job)
  end
end

local function enter_state(job, state, score)
  local queue = job.queue
  job.state = state
  zset_add(key(state, queue), job_member(job), score)
  book(queue, state, 1)
  if state == 'scheduled' then
    announce_due(queue, score)
  elseif state == 'waiting' and is_in_lane(job) then
    step_in(job, job_member(job))
  elseif state == 'running' and has_session(job.worker) then
    zset_add(key('held', job.worker), held_member(job), 0)
  end
  if extra(job, 'group') and state ~= 'complete' then
    zset_add(key('group', extra(job, 'group')), job.id, state == 'failed' and 1 or 0)
  end
  mark_changed(job)
end

-- Return the score of a job among the waiting jobs. A job whose field `first` is set comes before the jobs of
-- every priority.
local function waiting_score(job)
  return extra(job, 'first') and '-inf' or job.priority
end

-- Move a waiting job to the position of its new priority.
local function reorder_waiting(job)
  if extra(job, 'first') then
    leave_state(job)
    return enter_state(job, 'waiting', job.priority)
  end
  zset_add(key('waiting', job.queue), job_member(job), job.priority)
  if is_in_lane(job) then
    move_in_lane(job, job_member(job))
  end
end

local function delete_job(job)
  keep_proofs(job)
  if extra(job, 'start_by') then
    zset_remove(AGENDA, 'start:' .. job.id)
  end
  if extra(job, 'tags') then
    set_tags(job, {})
  end
  delete_record(job.id)
end

-- Add a job to its queue, immediately or after a delay.
local function enqueue(job, delay)
  job.worker = ''
  job.since = now + delay
  if delay > 0 then
    enter_state(job, 'scheduled', job.since)
  else
    enter_state(job, 'waiting', waiting_score(job))
    wake(job.queue, 1)
  end
end
