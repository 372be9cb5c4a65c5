-- plain_pop: pop jobs by a short path, which makes the same changes as the general path. The short path applies
-- if no housekeeping of the queue is due and the queue has no limits. Each job must have its payload in its
-- record, and no extra fields that only the general path handles. The short path writes nothing until it has
-- checked all jobs.
--
-- uses   keys set_members now job_packing events short_path endless_leases statistics

-- Read a record that has changed since the put. Return these values, in this order: the position after the data
-- and the put time; the fields `since`, `attempt` (for the new lease) and `remaining`; the first bytes of the new
-- record; the bytes after the token; the extra fields.
local function changed_parts(record, at_data, retries)
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
  return at_since, since, (attempt or 0) + 1, remaining, begins, ends, extras
end

-- Replace the records of waiting jobs with those of running jobs. Return the attempts, priorities and waiting
-- times of the jobs. Return nil if a job needs the general path.
local function lease_records(records, worker, secret)
  -- Only the fields that a pop changes are packed again.
  local since, by, held_by = cmsgpack.pack(now), cmsgpack.pack(worker), {}
  local attempts, priorities, waits = {}, {}, {}
  for i = 1, #records do
    local record = records[i]
    if not record or string.byte(record, 2) ~= WAITING then
      return nil
    end
    local at_data, _, priority, _, put_at, retries = cmsgpack.unpack_limit(record, 5, 2)
    local at_since, waited_since, attempt, remaining = #record, put_at, 1, retries
    local begins, ends, extras = JUST_POPPED, '', nil
    if string.sub(record, 1, 2) ~= JUST_PUT then
      at_since, waited_since, attempt, remaining, begins, ends, extras = changed_parts(record, at_data, retries)
    end
    if string.byte(record, at_data + 1) == FALSE or extras and needs_general_path(extras) then
      return nil
    end
    held_by[attempt] = held_by[attempt] or by .. cmsgpack.pack(attempt .. '.' .. secret)
    attempts[i], priorities[i], waits[i] = attempt, priority, now - waited_since
    records[i] = begins .. string.sub(record, 3, at_since) .. since
      .. cmsgpack.pack(attempt, remaining) .. held_by[attempt] .. ends
  end
  return attempts, priorities, waits
end

local function write_leases(queue, worker, deadline, ids, job_keys, records)
  local jobs, running, held = {}, {}, redis.call('ZSCORE', SESSIONS, worker) and {}
  -- The server formats a number slowly.
  local score = string.format('%d', deadline)
  for i = 1, #ids do
    jobs[2 * i - 1] = job_keys[i]
    jobs[2 * i] = records[i]
    running[2 * i - 1] = score
    running[2 * i] = ids[i]
    if held then
      held[2 * i - 1] = 0
      held[2 * i] = queue .. '\0' .. ids[i]
    end
  end
  redis.call('MSET', unpack(jobs))
  redis.call('ZREMRANGEBYRANK', key('waiting', queue), 0, #ids - 1)
  redis.call('ZADD', key('running', queue), unpack(running))
  if held then
    redis.call('ZADD', key('held', worker), unpack(held))
  end
end

local function count_pop(queue, popped)
  local books = key('books', queue)
  redis.call('HINCRBY', books, 'waiting', -popped)
  redis.call('HINCRBY', books, 'running', popped)
end

local function ms_until(moment)
  return moment == math.huge and -1 or moment - now
end

-- Return the reply of a pop, or nil if the pop needs the general path.
local function plain_pop(queue, worker, secret, count, deadline, with_stats)
  local due = first_due(queue)
  if due <= now then
    return nil
  end
  local found = redis.call('ZRANGE', key('waiting', queue), 0, count - 1)
  if #found == 0 then
    return { ms_until(due), {} }
  end
  local ids, job_keys = {}, {}
  for i = 1, #found do
    ids[i] = name_in(found[i])
    job_keys[i] = job_prefix .. ids[i]
  end
  local records = redis.call('MGET', unpack(job_keys))
  local attempts, priorities, waits = lease_records(records, worker, secret)
  if not attempts then
    return nil
  end
  local reply = { #ids == count and 0 or ms_until(math.min(due, end_of_lease(deadline))), {} }
  for i = 1, #ids do
    append_event('popped', ids[i], queue, attempts[i], worker, priorities[i], waits[i], '', '')
    reply[2 * i + 1] = ids[i]
    reply[2 * i + 2] = records[i]
  end
  write_leases(queue, worker, deadline, ids, job_keys, records)
  count_pop(queue, #ids)
  if with_stats then
    write_series(queue, 'wait', waits)
  end
  return reply
end

-- Store the offer of a worker that has found no job, or withdraw an earlier offer of the worker.
local function update_offer(queue, worker, secret, offer, idle_worker)
  if offer then
    redis.call('HSET', key('settings', queue), 'idle', worker .. '\0' .. secret .. '\0' .. now + offer)
  elseif idle_worker and string.sub(idle_worker, 1, #worker + 1) == worker .. '\0' then
    redis.call('HDEL', key('settings', queue), 'idle')
  end
end
