-- plain_complete: complete jobs by a short path, which makes the same changes as the general path. The short path
-- applies if all jobs have the same queue and worker, and no extra fields that only the general path handles. The
-- queue must keep completed jobs and must have no limits. The short path writes nothing until it has checked all
-- jobs.
--
-- uses   keys now defaults setting_value job_packing events short_path statistics

-- Return the ids, tokens and keys of jobs. Return nil if a row needs the general path.
local function plain_leases(rows)
  local ids, tokens, job_keys, seen = {}, {}, {}, {}
  for id, token, given in rows() do
    if seen[id] or given ~= '' or token == '' then
      return nil
    end
    seen[id] = true
    local i = #ids + 1
    ids[i], tokens[i], job_keys[i] = id, token, job_prefix .. id
  end
  return ids, tokens, job_keys
end

-- Replace the records of running jobs with those of completed jobs. Return the queue, the worker, and the
-- attempts, priorities and running times of the jobs. Return nil if a job needs the general path.
local function complete_records(records, tokens)
  -- Only the state and the end time change, so the other fields are not packed again.
  local attempts, priorities, runs, ended = {}, {}, {}, cmsgpack.pack(now)
  local queue, worker
  for i = 1, #tokens do
    local record = records[i]
    if not record or string.byte(record, 2) ~= RUNNING then
      return nil
    end
    local at_ended, in_queue, priority, _, _, _, _, since, attempt, _, by, token = cmsgpack.unpack_limit(
      record, TOKEN - 1, 2)
    queue, worker = queue or in_queue, worker or by
    if token ~= tokens[i] or in_queue ~= queue or by ~= worker then
      return nil
    elseif at_ended < 0 then
      records[i] = JUST_COMPLETE .. string.sub(record, 3) .. ended
    else
      local extras = select(3, cmsgpack.unpack_limit(record, 2, at_ended))
      if extras and needs_general_path(extras) then
        return nil
      end
      records[i] = string.char(string.byte(record), COMPLETE) .. string.sub(record, 3, at_ended) .. ended
        .. string.sub(record, at_ended + 2)
    end
    attempts[i], priorities[i], runs[i] = attempt, priority, now - since
  end
  return queue, worker, attempts, priorities, runs
end

-- Return nil if the queue needs the general path. Otherwise return the number of completed jobs that it keeps,
-- and whether it has statistics.
local function kept_and_counted(queue)
  local own_keep_count, own_keep_age, own_stats, limited = unpack(redis.call('HMGET', key('settings', queue),
    'keep_count', 'keep_age', 'stats', 'limited'))
  local shared_keep_count, shared_keep_age, shared_stats = unpack(redis.call('HMGET', CONFIG, 'keep_count',
    'keep_age', 'stats'))
  local keep_count = setting_value(own_keep_count, shared_keep_count, DEFAULT_KEEP_COUNT)
  if limited or keep_count == 0 or setting_value(own_keep_age, shared_keep_age, DEFAULT_KEEP_AGE) == 0 then
    return nil
  end
  return keep_count, setting_value(own_stats, shared_stats, DEFAULT_STATS) == 1
end

local function write_completed(queue, worker, ids, job_keys, records)
  local jobs, complete = {}, {}
  for i = 1, #ids do
    jobs[2 * i - 1] = job_keys[i]
    jobs[2 * i] = records[i]
    complete[2 * i - 1] = now
    complete[2 * i] = ids[i]
  end
  redis.call('MSET', unpack(jobs))
  redis.call('ZREM', key('running', queue), unpack(ids))
  redis.call('ZADD', key('complete', queue), unpack(complete))
  if redis.call('EXISTS', key('held', worker)) == 1 then
    local held = {}
    for i = 1, #ids do
      held[i] = queue .. '\0' .. ids[i]
    end
    redis.call('ZREM', key('held', worker), unpack(held))
  end
end

local function count_complete(queue, completed)
  local books = key('books', queue)
  redis.call('HINCRBY', books, 'running', -completed)
  redis.call('HINCRBY', books, 'complete', completed)
end

-- Return the number of completed jobs, and what is left to the general path. Return nil if the call needs the
-- general path.
local function plain_complete(rows)
  local ids, tokens, job_keys = plain_leases(rows)
  if not ids then
    return nil
  end
  local records = redis.call('MGET', unpack(job_keys))
  local queue, worker, attempts, priorities, runs = complete_records(records, tokens)
  local keep_count, with_stats
  if queue then
    keep_count, with_stats = kept_and_counted(queue)
  end
  if not keep_count then
    return nil
  end
  for i = 1, #ids do
    append_event('completed', ids[i], queue, attempts[i], worker, priorities[i], '', runs[i], '')
  end
  write_completed(queue, worker, ids, job_keys, records)
  redis.call('SPUBLISH', key('ended', ''), cmsgpack.pack(ids))
  count_complete(queue, #ids)
  if with_stats then
    write_series(queue, 'run', runs)
  end
  local kept = redis.call('ZCARD', key('complete', queue))
  return #ids, end_short_path(queue, nil, kept == #ids or kept > keep_count)
end
