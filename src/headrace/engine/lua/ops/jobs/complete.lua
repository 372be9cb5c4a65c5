-- complete: complete jobs, by token or by an operator with an empty token. With a next queue they move to
-- it in the same script, blocked by `parents` if there are any. `given` is empty, or packs a result and new
-- data, false where there is none.
--
-- args   next_queue:optional delay:int parents:packed
-- each   id token given
-- flags  allow-oom
-- uses   keys now defaults setting_value job_packing fast_path_enabled fast_path statistics
-- reply  the number of jobs if all are complete, else for each its new state or a refusal
-- error  NOT_FOUND LEASE_LOST WRONG_STATE DONE DEPENDENCY_REFUSED

-- A case that is not plain leaves the fast path before anything is written.
local made, crowded
repeat
  if not FAST_PATH or last_stamp > now or again or next_queue then
    break
  end

  local ids, tokens, job_keys, seen, plain = {}, {}, {}, {}, true
  for id, token, given in each() do
    plain = not seen[id] and given == '' and token ~= ''
    if not plain then
      break
    end
    seen[id] = true
    local i = #ids + 1
    ids[i], tokens[i], job_keys[i] = id, token, job_prefix .. id
  end
  if not plain then
    break
  end
  local records = redis.call('MGET', unpack(job_keys))
  local attempts, priorities, runs, ends, queue, worker = {}, {}, {}, {}, nil, nil
  for i = 1, #ids do
    local record = records[i]
    plain = record and string.byte(record, 2) == RUNNING
    if not plain then
      break
    end
    local at_ended, in_queue, priority, _, _, _, _, since, attempt, _, by, token = cmsgpack.unpack_limit(
      record, TOKEN - 1, 2)
    local extras = at_ended > 0 and select(3, cmsgpack.unpack_limit(record, 2, at_ended))
    plain = token == tokens[i] and not (extras and needs_general_path(extras))
      and in_queue == (queue or in_queue) and by == (worker or by)
    if not plain then
      break
    end
    queue, worker = in_queue, by
    attempts[i], priorities[i], runs[i], ends[i] = attempt, priority, now - since, at_ended
  end
  if not plain then
    break
  end
  local own_keep_count, own_keep_age, own_stats, limited = unpack(redis.call('HMGET', key('settings', queue),
    'keep_count', 'keep_age', 'stats', 'limited'))
  local shared_keep_count, shared_keep_age, shared_stats = unpack(redis.call('HMGET', CONFIG, 'keep_count',
    'keep_age', 'stats'))
  local keep_count = setting_value(own_keep_count, shared_keep_count, default_keep_count)
  if limited or keep_count == 0 or setting_value(own_keep_age, shared_keep_age, default_keep_age) == 0 then
    break
  end

  -- Only the state and the end time change: the rest is not packed again.
  local ended = cmsgpack.pack(now)

  local function completed(record, at_ended)
    if at_ended < 0 then
      return JUST_COMPLETE .. string.sub(record, 3) .. ended
    end
    return string.char(string.byte(record), COMPLETE) .. string.sub(record, 3, at_ended) .. ended
      .. string.sub(record, at_ended + 2)
  end

  local jobs, complete = {}, {}
  for i = 1, #ids do
    local id = ids[i]
    event = event + 1
    redis.call('XADD', EVENTS, event_prefix .. string.format('%d', event), 'kind', 'completed', 'id', id,
      'queue', queue, 'attempt', attempts[i], 'worker', worker, 'priority', priorities[i], 'wait', '', 'run', runs[i],
      'data', '')
    jobs[2 * i - 1] = job_keys[i]
    jobs[2 * i] = completed(records[i], ends[i])
    complete[2 * i - 1] = now
    complete[2 * i] = id
  end
  redis.call('MSET', unpack(jobs))
  redis.call('ZREM', key('running', queue), unpack(ids))
  redis.call('SPUBLISH', key('ended', ''), cmsgpack.pack(ids))
  if redis.call('EXISTS', key('held', worker)) == 1 then
    for i = 1, #ids do
      ids[i] = queue .. '\0' .. ids[i]
    end
    redis.call('ZREM', key('held', worker), unpack(ids))
  end
  redis.call('ZADD', key('complete', queue), unpack(complete))
  local books = key('books', queue)
  redis.call('HINCRBY', books, 'running', -#ids)
  redis.call('HINCRBY', books, 'complete', #ids)
  if setting_value(own_stats, shared_stats, default_stats) == 1 then
    write_series(queue, 'run', runs)
  end
  local kept = redis.call('ZCARD', key('complete', queue))
  made = #job_keys
  crowded = (kept == made or kept > keep_count) and queue
until true

local housekeeping_due, trim_due
if made then
  housekeeping_due, trim_due = end_fast_path(crowded)
  if not housekeeping_due then
    return made
  end
end

-- later  complete_general

if made then
  complete_general('housekeeping', trim_due, crowded)
  return made
end
return complete_general()
