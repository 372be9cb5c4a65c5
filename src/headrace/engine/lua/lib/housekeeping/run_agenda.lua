-- run_agenda: run the due entries of the agenda, at most 16 entries per call, within the work budget of the call.
-- Calls of clients run the due entries, so limits and retention need no background process. The first word of an
-- entry is the name of a task. The agenda runs only once per call.
--
-- uses   lanes keys set_members now settings job_records sorted_sets job_states cancel_and_expire completed_jobs
-- uses   results kept_jobs statistics scan_set notices change_limits job_finished trim_event_log
-- uses   recover_transaction commit_log work_budget remembered_answers

local LINE_UP_AT_MOST = 200

local TASKS = {}

local function may_start(job)
  return job.state == 'waiting' or job.state == 'scheduled' or job.state == 'blocked'
end

function TASKS.start(id)
  local job = read_job(id)
  if job and extra(job, 'start_by') and may_start(job) then
    expire_job(job)
  end
end

function TASKS.result(id)
  local job = read_job(id)
  if job and job.state == 'complete' then
    drop_result(job)
    if not redis.call('ZSCORE', key('complete', job.queue), id) then
      delete_job(job)
    end
  end
end

function TASKS.unlock(name)
  process_list_later(name)
end

function TASKS.complete(queue)
  prune_completed(queue)
end

function TASKS.events()
  trim_event_log()
end

-- After a queue has started to use lanes, move its waiting jobs into the lanes.
function TASKS.lanes(queue)
  local limits = settings(queue)
  if not limits.building then
    return
  end
  local cursor = limits.building ~= '' and cmsgpack.unpack(limits.building) or nil
  local found, next_cursor = scan_set(key('waiting', queue), LINE_UP_AT_MOST, cursor)
  local ids = ids_in(found, 'waiting')
  read_jobs(ids)
  for i, id in ipairs(ids) do
    local job = read_job(id)
    if job then
      step_in(job, found[2 * i - 1])
    end
  end
  add_work(#ids / 2)
  if next_cursor then
    redis.call('HSET', key('settings', queue), 'building', cmsgpack.pack(next_cursor))
    zset_add(AGENDA, 'lanes:' .. queue, now)
  else
    limits.building = nil
    redis.call('HDEL', key('settings', queue), 'building')
    wake(queue, 1)
  end
end

function TASKS.answers()
  if replace_older_answers() then
    zset_add(AGENDA, 'answers:', now + REMEMBERED_MS)
  end
end

function TASKS.gates(queue)
  local limits = settings(queue)
  if limits.rechecking then
    recheck_gates(queue, cmsgpack.unpack(limits.rechecking))
  end
end

function TASKS.throttle(name)
  end_throttle(name)
end

-- Read the day and the queue from an entry, and return them if the figures of that day are no longer kept. The
-- setting for their age may have been raised since the entry was added. The entry then becomes due later.
local function ended_day(duty, name)
  local day, queue = string.match(name, '^(%d+):(.*)$')
  local age = settings(queue)[duty .. '_age']
  if is_day_kept(day, age) then
    zset_add(AGENDA, duty .. ':' .. name, (day + 1) * DAY + age)
    return
  end
  return day, queue
end

function TASKS.stats(name)
  local day, queue = ended_day('stats', name)
  if day then
    redis.call('DEL', key('stats', name))
    redis.call('ZREM', key('days', queue), day)
  end
end

function TASKS.histogram(name)
  if ended_day('histogram', name) then
    redis.call('DEL', key('histogram', name))
  end
end

function TASKS.staged(attempt)
  redis.call('UNLINK', key('staged', attempt))
end

function TASKS.imported(import)
  redis.call('UNLINK', key('imported', import))
end

function TASKS.transaction(transaction)
  recover_transaction(transaction)
end

function TASKS.write(write)
  expire_write(write)
end

local function agenda_tasks(entry)
  local duty, name = string.match(entry, '^(%l+):(.*)$')
  TASKS[duty](name)
end

local AGENDA_AT_MOST = 16

local agenda_ran = false

-- Return true if no more entries are due.
local function run_agenda(trim_due)
  if agenda_ran then
    return true
  end
  agenda_ran = true
  flush_zsets()
  if trim_due then
    agenda_tasks('events:')
  end
  if redis.call('ZCOUNT', AGENDA, '-inf', now) == 0 then
    return true
  end
  local due = redis.call('ZRANGE', AGENDA, '-inf', now, 'BYSCORE', 'LIMIT', 0, AGENDA_AT_MOST)
  for _, entry in ipairs(due) do
    if work_left(1) == 0 then
      return false
    end
    zset_remove(AGENDA, entry)
    agenda_tasks(entry)
  end
  return #due < AGENDA_AT_MOST
end
