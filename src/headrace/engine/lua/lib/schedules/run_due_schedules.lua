-- run_due_schedules: create one job for each due run of a schedule. The put time of the job is the time
-- of the run. If another job holds the unique value of the new job, the run is skipped.
--
-- uses   keys now job_records create_job unique_values schedule_index cron work_budget

local function interval_runs(schedule, most)
  local every, first = tonumber(schedule.every), tonumber(schedule.next)
  local missed = math.floor((now - first) / every) + 1
  local wanted = math.min(missed, (tonumber(schedule.backlog) or math.huge) + 1)
  local runs = {}
  for i = 1, math.min(wanted, most) do
    runs[i] = first + (missed - wanted + i - 1) * every
  end
  return runs, first + (missed - wanted + #runs) * every
end

local function all_cron_runs(rule, after, most)
  local runs = {}
  local at = time_after(rule, after)
  while at <= now and #runs < most do
    runs[#runs + 1] = at
    at = time_after(rule, at)
  end
  return runs, at
end

local function newest_cron_runs(rule, after, backlog, most)
  local newest = {}
  local at = time_until(rule, now)
  while at > after and #newest <= backlog do
    newest[#newest + 1] = at
    at = time_until(rule, at - 1)
  end
  local runs = {}
  for i = 1, math.min(#newest, most) do
    runs[i] = newest[#newest - i + 1]
  end
  return runs, newest[#newest - #runs] or time_after(rule, now)
end

-- Return the due runs of a schedule, oldest first, and the time of the next run. A schedule with a backlog
-- skips all missed runs except the newest backlog + 1 runs. At most `most` runs are returned.
local function due_runs(schedule, most)
  if schedule.every then
    return interval_runs(schedule, most)
  end
  local rule, after = read_rule(schedule.rule, schedule.offsets), tonumber(schedule.after)
  local backlog = tonumber(schedule.backlog)
  if backlog then
    return newest_cron_runs(rule, after, backlog, most)
  end
  return all_cron_runs(rule, after, most)
end

local RUNS_AT_MOST = 100

local runs_left = RUNS_AT_MOST

-- Return the next id that no other job has, or nil if this call has reached its limit.
local function next_job_id(schedule)
  while runs_left > 0 do
    runs_left = runs_left - 1
    schedule.counter = schedule.counter + 1
    local id = schedule.prefix .. '-' .. schedule.counter
    if not read_job(id) then
      return id
    end
  end
end

local function start_run(schedule, given, at)
  local id = next_job_id(schedule)
  if not id then
    return false
  end
  local job = create_job(schedule.queue, id, schedule.data, given, { 'schedule', schedule.id })
  job.put_at = at
  job.since = at
  set_extra(job, 'schedule', schedule.id)
  schedule.made = schedule.made + 1
  return true
end

local SKIPPED_AT_MOST = 500

-- Skip the due runs from `first` on, a bounded number per call. Return the last skipped run and the time of the
-- next run.
local function skip_runs(schedule, first)
  if schedule.every then
    local skipped, every = math.floor((now - first) / schedule.every) + 1, tonumber(schedule.every)
    schedule.skipped = schedule.skipped + skipped
    return first + (skipped - 1) * every, first + skipped * every
  end
  local rule = read_rule(schedule.rule, schedule.offsets)
  local runs, upcoming = all_cron_runs(rule, first, SKIPPED_AT_MOST)
  schedule.skipped = schedule.skipped + 1 + #runs
  runs_left = runs_left - math.ceil(#runs / 10)
  return runs[#runs] or first, upcoming
end

-- Create the jobs of the due runs of a schedule, at most `most` jobs. While a job with the unique value of the
-- new jobs exists, all due runs are skipped. Return true if no due run is left.
local function advance_schedule(schedule, most)
  local runs, upcoming = due_runs(schedule, most)
  local given = schedule.options ~= '' and cmsgpack.unpack(schedule.options) or {}
  local start_within = given.start_within
  for _, at in ipairs(runs) do
    given.start_within = start_within and start_within + at - now
    if unique_holder(schedule.queue, given.unique, '') then
      schedule.last, upcoming = skip_runs(schedule, at)
      schedule.after = schedule.last
      break
    elseif not start_run(schedule, given, at) then
      upcoming = at
      break
    end
    schedule.after = at
    schedule.last = at
  end
  redis.call('HSET', key('schedule', schedule.id), 'next', upcoming, 'counter', schedule.counter,
    'made', schedule.made, 'skipped', schedule.skipped, 'after', schedule.after,
    'last', schedule.last or '')
  list_schedule(schedule.id, schedule.queue, upcoming)
  return tonumber(upcoming) > now
end

-- Each schedule gets an equal share of the runs that this call may do, so that no schedule waits for the backlog
-- of another.
local function run_schedules(queue, due)
  runs_left = work_left(runs_left)
  local done = true
  for i, id in ipairs(due) do
    local schedule = runs_left > 0 and read_schedule(id)
    if schedule then
      done = advance_schedule(schedule, math.ceil(runs_left / (#due - i + 1))) and done
    elseif runs_left > 0 then
      unlist_schedule(id, queue)
    end
  end
  return done and runs_left > 0
end

local SCHEDULES_AT_MOST = 50

-- Create the due jobs of a queue's schedules. Return true if no due schedule is left.
local function run_due_schedules(queue)
  local due = redis.call(
    'ZRANGE', key('schedules', queue), '-inf', now, 'BYSCORE', 'LIMIT', 0, SCHEDULES_AT_MOST
  )
  return #due == 0 or run_schedules(queue, due) and #due < SCHEDULES_AT_MOST
end
