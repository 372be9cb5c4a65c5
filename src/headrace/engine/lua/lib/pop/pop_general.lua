-- pop_general: pop jobs through the general path. This path handles pending housekeeping, expired leases,
-- start deadlines, limits and repeated calls. If the call cannot finish a part of the housekeeping that could
-- change the order of the queue, it returns no jobs, and the time in its reply is 0: the client should pop again
-- immediately. Without this rule, pop could skip a job that should come first. While another caller has the turn
-- to do this housekeeping, pop hands out the jobs that already wait. If no job waits, the time in the reply is
-- -2: the client should pop again soon.
--
-- uses   keys set_members now settings job_records sorted_sets reclaim_dead_worker promote_due_jobs
-- uses   run_due_schedules ingress notices run_agenda write_back hand_out expired_leases gates take_from_lanes
-- uses   housekeeping_turn work_budget endless_leases resume_pop

-- Return the sorted sets, scored by time, whose members can make jobs of a queue available: scheduled jobs,
-- schedules, leases, sessions and gates.
local function due_sources(queue)
  return {
    key('scheduled', queue), key('schedules', queue), key('running', queue), SESSIONS, key('gated', queue),
  }
end

local function ms_until_due(sets, earliest)
  for _, where in ipairs(sets) do
    local first = redis.call('ZRANGE', where, 0, 0, 'WITHSCORES')
    earliest = math.min(earliest, end_of_lease(first[2]))
  end
  if earliest == math.huge then
    return -1
  end
  return math.max(0, earliest - now)
end

local ROUNDS, AGAIN_SOON = 4, -2

local function take_waiting(most)
  most = work_left(most)
  local found = most > 0 and redis.call('ZRANGE', key('waiting', pop_queue), 0, most - 1) or {}
  local ids = {}
  for i = 1, #found do
    ids[i] = name_in(found[i])
  end
  read_jobs(ids)
  for i = 1, #ids do
    if work_left(1) == 0 then
      break
    end
    hand_out_waiting(ids[i], found[i])
  end
  return #found == most
end

-- Call `take` until enough jobs are handed out. `take` returns false if the queue has no more jobs. Several
-- rounds may be needed, because jobs that expired or had no record are not handed out.
local function fill(take, wanted)
  for _ = 1, ROUNDS do
    if #granted >= wanted or not take(wanted - #granted) then
      return true
    end
    flush_zsets()
  end
  return #granted >= wanted
end

local function has_due(where)
  return redis.call('ZCOUNT', where, '-inf', now) > 0
end

-- Do the housekeeping that comes before a pop. The first result is false if the queue still lacks jobs that
-- should be handed out before the jobs that already wait. The second result is false if housekeeping is left that
-- could add more jobs to the queue now.
local function is_ready(queue, limits)
  local ready, all_in, all_done = true, true, true
  if has_due(SESSIONS) then
    ready, all_done = reclaim_dead_workers(queue)
  end
  if redis.call('EXISTS', key('scheduled', queue), key('schedules', queue)) > 0 then
    ready = ready and promote_due_jobs(queue)
    all_in = run_due_schedules(queue)
  end
  run_agenda()
  ready = ready and not limits.building
  pass_turn(pop_worker, ready and all_in and all_done and not limits.rechecking)
  return ready, all_in and all_done and not limits.rechecking
end

local function pop_general(queue, worker, secret, count, deadline)
  pop_queue, pop_worker, pop_secret, pop_deadline = queue, worker, secret, deadline
  local limits = settings(queue)
  local may_prepare = has_turn(worker)
  local ready, all_in = not limits.building, true
  if may_prepare then
    ready, all_in = is_ready(queue, limits)
  end
  flush_zsets()
  all_in = drain_ingress_for_pop(queue, count) and all_in
  flush_zsets()
  local ticket = again and resume_pop()
  if ticket then
    return write_back({ 'UNFINISHED', ticket })
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
  elseif ready and (not has_due(key('running', queue)) or fill(take_expired_leases, wanted)) and fill(take, wanted)
    and #granted < count then
    flush_zsets()
    due = all_in and ms_until_due(due_sources(queue), math.huge) or 0
  end
  if #granted == 0 and not may_prepare and limits.paused ~= 1 then
    skip_turn()
    due = AGAIN_SOON
  end
  if woken then
    wake(queue, -#granted)
  end

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
