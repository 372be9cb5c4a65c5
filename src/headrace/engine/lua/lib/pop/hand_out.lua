-- hand_out: hand jobs to the worker of a pop.
--
-- uses   lanes keys now settings job_records sorted_sets job_states events observations books
-- uses   job_finished lane_access cancel_and_expire work_budget

-- The arguments of the pop, and the jobs that this call has handed out.
local pop_queue, pop_worker, pop_secret, pop_deadline
local granted = {}

local function clear_start_deadline(job)
  zset_remove(AGENDA, 'start:' .. job.id)
  set_extra(job, 'start_by', nil)
end

-- Handing out a job under limits takes as long as handing out three other jobs.
local WORK_OF_GATES = 2

-- Hand a job to a worker under a new lease. If the queue removes jobs when they are popped, the job is
-- deleted and has no lease.
local function grant_lease(job, known_member, waited)
  observe(job.queue, 'wait', waited)
  leave_state(job, known_member)
  if extra(job, 'start_by') then
    clear_start_deadline(job)
  end
  local attempt = job.attempt + 1
  job.attempt = attempt
  job.worker = pop_worker
  job.token = attempt .. '.' .. pop_secret
  job.since = now
  emit('popped', job, waited)
  local limits = settings(job.queue)
  if limits.limited or is_in_lane(job) then
    pass_gates(job, limits.removes ~= 1 and pop_deadline)
    add_work(WORK_OF_GATES)
  end
  if limits.removes == 1 then
    emit('completed', job)
    job_finished(job, 'completed')
    book(job.queue, 'complete', 1)
    book(job.queue, 'pruned', 1)
    delete_job(job)
  else
    enter_state(job, 'running', pop_deadline)
  end
end

-- Copying this many bytes of payloads into the reply takes as long as changing the state of one job.
local BYTES_LIKE_A_CHANGE = 8192

local function hand_out(job, known_member, waited)
  if job.data == false then
    add_work(redis.call('STRLEN', key('data', job.id)) / BYTES_LIKE_A_CHANGE)
  end
  grant_lease(job, known_member, waited)
  granted[#granted + 1] = job
end

-- Hand out a waiting job, unless its start deadline has passed or its record is gone.
local function hand_out_waiting(id, name)
  local job = read_job(id)
  local start_by = job and extra(job, 'start_by')
  if not job then
    zset_remove(key('waiting', pop_queue), name)
    return false
  elseif start_by and start_by <= now then
    expire_job(job)
  else
    hand_out(job, name, now - job.since)
  end
  return true
end
