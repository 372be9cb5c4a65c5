-- pop_general: the general path of pop: pending housekeeping, expired leases, jobs with a start deadline,
-- limits, repeated calls. If housekeeping does not finish, pop hands out nothing and asks to be called
-- again at once (due is 0), so that no job that should come first is skipped.
--
-- uses   keys set_members now settings job_records sorted_sets job_states reclaim_dead_worker promote_due_jobs
-- uses   run_due_schedules drain_ingress notices run_agenda write_back events observations books job_finished
-- uses   lane_access
-- needs  queue worker secret count deadline

local function clear_start_deadline(job)
  zset_remove(AGENDA, 'start:' .. job.id)
  set_extra(job, 'start_by', nil)
end

-- Hand a job to a worker under a new lease, or delete it if the queue removes jobs when they are popped.
local function grant_lease(job, known_member, worker, secret, deadline, waited)
  observe(job.queue, 'wait', waited)
  leave_state(job, known_member)
  if extra(job, 'start_by') then
    clear_start_deadline(job)
  end
  local attempt = job.attempt + 1
  job.attempt = attempt
  job.worker = worker
  job.token = attempt .. '.' .. secret
  job.since = now
  emit('popped', job, waited)
  local limits = settings(job.queue)
  if limits.limited or is_in_lane(job) then
    lanes('pass_gates', job, limits.removes ~= 1 and deadline)
  end
  if limits.removes == 1 then
    emit('completed', job)
    job_finished(job, 'completed')
    book(job.queue, 'complete', 1)
    book(job.queue, 'pruned', 1)
    delete_job(job)
  else
    enter_state(job, 'running', deadline)
  end
end

-- Sorted sets, by time, of what may give a queue work: scheduled jobs, schedules, leases, sessions, gates.
local function due_sources(queue)
  return {
    key('scheduled', queue), key('schedules', queue), key('running', queue), SESSIONS, key('gated', queue),
  }
end

local function ms_until_due(sets, earliest)
  for _, where in ipairs(sets) do
    local first = redis.call('ZRANGE', where, 0, 0, 'WITHSCORES')
    earliest = math.min(earliest, tonumber(first[2] or math.huge))
  end
  if earliest == math.huge then
    return -1
  end
  return math.max(0, earliest - now)
end

local ROUNDS = 4

local limits = settings(queue)

local granted = {}

local function hand_out(job, known_member, waited)
  grant_lease(job, known_member, worker, secret, deadline, waited)
  granted[#granted + 1] = job
end

-- later  resume_pop take_expired_leases expire_unstarted_job queue_capacity

-- Hand out a waiting job, unless its start deadline has passed or its record is gone.
local function hand_out_waiting(id, name)
  local job = read_job(id)
  local start_by = job and extra(job, 'start_by')
  if not job then
    zset_remove(key('waiting', queue), name)
    return false
  elseif start_by and start_by <= now then
    expire_unstarted_job(job)
  else
    hand_out(job, name, now - job.since)
  end
  return true
end

local function take_waiting(most)
  local found = redis.call('ZRANGE', key('waiting', queue), 0, most - 1)
  local ids = {}
  for i = 1, #found do
    ids[i] = name_in(found[i])
  end
  read_jobs(ids)
  for i = 1, #ids do
    hand_out_waiting(ids[i], found[i])
  end
  return #found == most
end

-- later  take_from_lanes

-- A taker that hands out fewer jobs than wanted has no more. Further rounds replace the jobs that it
-- dropped.
local function fill(take, wanted)
  for _ = 1, ROUNDS do
    if #granted >= wanted or not take(wanted - #granted) then
      return true
    end
    flush_zsets()
  end
  return #granted >= wanted
end

local function has_expired_lease()
  local first = redis.call('ZRANGE', key('running', queue), 0, 0, 'WITHSCORES')
  return first[2] and tonumber(first[2]) <= now
end

local function is_ready()
  local ready = reclaim_dead_worker() and promote_due_jobs(queue) and run_due_schedules(queue)
  local all_in = drain_ingress(queue)
  run_agenda()
  flush_zsets()
  return ready and not limits.building, all_in
end

return function(housekeeping_due, trim_due)
  if housekeeping_due then
    return run_housekeeping(trim_due)
  end
  local ready, all_in = is_ready()
  if again then
    resume_pop()
  end
  local free, room_at = count, now
  if limits.limited then
    free, room_at = queue_capacity(queue)
  end
  local wanted = math.min(count, free)
  local take = limits.governed and take_from_lanes or take_waiting
  local due = 0
  if #granted > 0 or ready and limits.paused == 1 then
    due = -1
  elseif ready and wanted == 0 then
    due = ms_until_due({ SESSIONS }, room_at)
  elseif ready and (not has_expired_lease() or fill(take_expired_leases, wanted)) and fill(take, wanted)
    and #granted < count then
    flush_zsets()
    due = all_in and ms_until_due(due_sources(queue), math.huge) or 0
  end
  wake(queue, -#granted)

  local reply, apart = { due }, {}
  reply[2] = apart
  for _, job in ipairs(granted) do
    reply[#reply + 1] = job.id
    reply[#reply + 1] = pack_final(job)
    if job.data == false then
      apart[#apart + 1] = job.id
      apart[#apart + 1] = payload(job)
    end
  end
  return write_back(reply)
end
