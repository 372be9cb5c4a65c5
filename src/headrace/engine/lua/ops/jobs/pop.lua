-- pop: hand the next jobs of a queue to a worker, each under its own lease: first jobs whose lease expired,
-- then waiting ones. A lease of -1 is the queue's own. A lease of -2 ends only with the worker's session,
-- if the queue uses sessions. With an offer (milliseconds), a worker that finds no job is handed the next
-- plain job when it is put.
--
-- args   queue worker secret count:int lease:int offer:int
-- flags  allow-oom
-- uses   keys set_members now defaults setting_value job_packing fast_path_enabled fast_path statistics
-- reply  {milliseconds until something is due or -1, {id, payload with a key of its own, ...}, id, record, ...}
-- error  SESSION_REQUIRED

local own_session, own_lease, own_paused, own_removes, own_stats, limited, created, idle_worker = unpack(
  redis.call('HMGET', key('settings', queue), 'session', 'lease', 'paused', 'removes', 'stats', 'limited',
    'created', 'idle'))
local shared_session, shared_lease, shared_paused, shared_removes, shared_stats = unpack(
  redis.call('HMGET', CONFIG, 'session', 'lease', 'paused', 'removes', 'stats'))

local session_mode = setting_value(own_session, shared_session, default_session)
local while_session = lease == -2 and session_mode
if (while_session or session_mode == 'required')
  and tonumber(redis.call('ZSCORE', SESSIONS, worker) or 0) <= now
  or session_mode == 'required' and not redis.call('ZSCORE', key('serves', worker), queue) then
  return 'SESSION_REQUIRED'
end

local span = setting_value(own_lease, shared_lease, default_lease)
if lease >= 0 then
  span = lease
elseif while_session then
  span = false
end
local deadline = span and now + span or 'inf'

-- A case that is not plain leaves the fast path before anything is written.
local reply
repeat
  if not FAST_PATH or limited or again or last_stamp > now then
    break
  end

  local earliest = math.huge
  for _, where in ipairs({
    SESSIONS, key('scheduled', queue), key('schedules', queue), key('running', queue),
  }) do
    earliest = math.min(earliest, tonumber(redis.call('ZRANGE', where, 0, 0, 'WITHSCORES')[2] or earliest))
  end
  if earliest <= now or setting_value(own_paused, shared_paused, default_paused) == 1
    or setting_value(own_removes, shared_removes, default_removes) == 1
    or redis.call('EXISTS', key('ingress', queue)) == 1 then
    break
  end

  local function offer_to_take(got)
    if offer > 0 and got == 0 and while_session and created then
      redis.call('HSET', key('settings', queue), 'idle', worker .. '\0' .. secret .. '\0' .. now + offer)
    elseif idle_worker and string.sub(idle_worker, 1, #worker + 1) == worker .. '\0' then
      redis.call('HDEL', key('settings', queue), 'idle')
    end
  end

  local waiting = key('waiting', queue)
  local found = redis.call('ZRANGE', waiting, 0, count - 1)
  if #found == 0 then
    offer_to_take(0)
    reply = { earliest == math.huge and -1 or earliest - now, {} }
    break
  end
  local job_keys = {}
  for i = 1, #found do
    job_keys[i] = job_prefix .. name_in(found[i])
  end

  -- For a job whose record was changed since the put: where its later fields begin, their values, the first
  -- bytes of its new record, and the part behind the holder.
  local function read_changed_job(record, at_data, retries)
    local size = string.byte(record) - NO_FIELDS
    local at_since, ends, extras = cmsgpack.unpack_limit(record, 1, at_data), '', nil
    local at_ended, since, attempt, remaining = cmsgpack.unpack_limit(record, 5, at_since)
    if remaining == nil then
      remaining = retries
    end
    if size > TOKEN then
      ends, extras = string.sub(record, at_ended + 1), select(3, cmsgpack.unpack_limit(record, 2, at_ended))
    end
    local begins = string.char(NO_FIELDS + math.max(size, TOKEN), RUNNING)
    return at_since, since, attempt or 0, remaining, begins, ends, extras
  end

  -- Only changed fields are packed again: the state and the holder.
  local since, by = cmsgpack.pack(now), cmsgpack.pack(worker)
  local held_by = {}

  local function holder(attempt)
    held_by[attempt] = held_by[attempt] or by .. cmsgpack.pack(attempt .. '.' .. secret)
    return held_by[attempt]
  end

  local records = redis.call('MGET', unpack(job_keys))
  local attempts, priorities, waits, plain = {}, {}, {}, true
  for i = 1, #records do
    local record = records[i]
    plain = record and string.byte(record, 2) == WAITING
    if not plain then
      break
    end
    local at_data, _, priority, _, put_at, retries = cmsgpack.unpack_limit(record, 5, 2)
    local at_since, waited_since, attempt, remaining = #record, put_at, 0, retries
    local begins, ends, extras = JUST_POPPED, '', nil
    if string.sub(record, 1, 2) ~= JUST_PUT then
      at_since, waited_since, attempt, remaining, begins, ends, extras = read_changed_job(record, at_data, retries)
    end
    plain = string.byte(record, at_data + 1) ~= FALSE and not (extras and needs_general_path(extras))
    if not plain then
      break
    end
    attempts[i], priorities[i], waits[i] = attempt + 1, priority, now - waited_since
    records[i] = begins .. string.sub(record, 3, at_since) .. since
      .. cmsgpack.pack(attempt + 1, remaining) .. holder(attempt + 1) .. ends
  end
  if not plain then
    break
  end

  local jobs, running, held = {}, {}, {}
  local has_session = redis.call('ZSCORE', SESSIONS, worker)
  earliest = span and math.min(earliest, deadline) or earliest
  reply = { #found == count and 0 or earliest == math.huge and -1 or earliest - now, {} }
  for i = 1, #records do
    local id = name_in(found[i])
    event = event + 1
    redis.call('XADD', EVENTS, event_prefix .. string.format('%d', event), 'kind', 'popped', 'id', id,
      'queue', queue, 'attempt', attempts[i], 'worker', worker, 'priority', priorities[i], 'wait', waits[i], 'run', '',
      'data', '')
    jobs[2 * i - 1] = job_keys[i]
    jobs[2 * i] = records[i]
    running[2 * i - 1] = deadline
    running[2 * i] = id
    if has_session then
      held[2 * i - 1] = 0
      held[2 * i] = queue .. '\0' .. id
    end
    reply[2 * i + 1] = id
    reply[2 * i + 2] = records[i]
  end
  offer_to_take(#found)
  redis.call('MSET', unpack(jobs))
  redis.call('ZREMRANGEBYRANK', waiting, 0, #found - 1)
  redis.call('ZADD', key('running', queue), unpack(running))
  if has_session then
    redis.call('ZADD', key('held', worker), unpack(held))
  end
  local books = key('books', queue)
  redis.call('HINCRBY', books, 'waiting', -#found)
  redis.call('HINCRBY', books, 'running', #found)
  if setting_value(own_stats, shared_stats, default_stats) == 1 then
    write_series(queue, 'wait', waits)
  end
until true

local housekeeping_due, trim_due
if reply then
  housekeeping_due, trim_due = end_fast_path()
  if not housekeeping_due then
    return reply
  end
end

-- later  pop_general

if reply then
  pop_general('housekeeping', trim_due)
  return reply
end
return pop_general()
