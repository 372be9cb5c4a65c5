-- change_limits: apply changes of the limits of queues and of throttles. A rate is a bucket of tokens that refills
-- evenly. If a rate changes, the tokens that are used before the change refill at the new rate. If a rate is
-- removed, its used tokens are forgotten.
--
-- uses   keys now settings gates batched_calls sorted_sets notices write_back lanes scan_set work_budget

-- At the time `used`, all tokens of the old rate would have been available again. Return the time at which all
-- tokens of the new rate are available again. Both times are in microseconds.
local function converted(used, before, after)
  local starts, step = rate_step(after)
  local old_starts, old_step = rate_step(before)
  if starts == 0 then
    return used
  end
  local tokens = math.max(0, used - 1000 * now) / (old_starts == 0 and step or old_step)
  return 1000 * now + math.ceil(math.min(starts, tokens) * step)
end

local function convert_rate(gate, before, after)
  local where, name = rate_place(gate)
  local used = before ~= after and redis.call('ZSCORE', where, name)
  if not used then
    return
  elseif before and after then
    redis.call('ZADD', where, string.format('%.0f', converted(tonumber(used), before, after)), name)
  else
    redis.call('ZREM', where, name)
  end
end

local KEYS_AT_MOST = 4000

-- Convert the rates of the KEYS_AT_MOST keys of a queue that have used the most tokens. All other keys start with
-- all of their tokens.
local function convert_key_rates(queue, before, after)
  if before == after then
    return
  end
  local where, own = key('rates', queue), 'q' .. queue
  local found = redis.call('ZRANGE', where, 0, KEYS_AT_MOST - 1, 'REV', 'WITHSCORES')
  local kept, own_used = {}, redis.call('ZSCORE', where, own)
  for i = 1, before and after and #found or 0, 2 do
    if found[i] ~= own then
      kept[#kept + 1] = string.format('%.0f', converted(tonumber(found[i + 1]), before, after))
      kept[#kept + 1] = found[i]
    end
  end
  if own_used then
    kept[#kept + 1] = own_used
    kept[#kept + 1] = own
  end
  redis.call('UNLINK', where)
  call_in_batches('ZADD', where, kept)
end

-- Convert the rates of a queue whose settings have changed.
local function convert_queue_rates(queue, before)
  local after = settings(queue)
  convert_rate('q' .. queue, shard_share(before.rate, before.shards), shard_share(after.rate, after.shards))
  convert_key_rates(queue, before.key_rate or false, after.key_rate or false)
end

-- Start to keep the waiting jobs of a queue in lanes. The agenda moves the waiting jobs of the queue
-- into the lanes, a bounded number per call. Until all jobs are in lanes, pop returns no job of the
-- queue, so that the jobs stay in order.
local function use_lanes(queue)
  local limits = settings(queue)
  if limits.governed then
    return
  end
  limits.governed = 1
  redis.call('HSET', key('settings', queue), 'governed', 1, 'limited', 1)
  flush_zsets()
  if redis.call('EXISTS', key('waiting', queue)) == 1 then
    limits.building = ''
    redis.call('HSET', key('settings', queue), 'building', '')
    zset_add(AGENDA, 'lanes:' .. queue, now)
  end
end

local RECHECK_AT_MOST = 1000

-- Let the next pops check all gates of a queue, a bounded number per call. The agenda continues.
local function recheck_gates(queue, cursor)
  local found, next_cursor = scan_set(key('gated', queue), RECHECK_AT_MOST, cursor)
  local checked_now = {}
  for i = 1, #found, 2 do
    checked_now[i], checked_now[i + 1] = 0, found[i]
  end
  if checked_now[1] then
    redis.call('ZADD', key('gated', queue), 'XX', unpack(checked_now))
  end
  if next_cursor then
    settings(queue).rechecking = cmsgpack.pack(next_cursor)
    redis.call('HSET', key('settings', queue), 'rechecking', settings(queue).rechecking)
    zset_add(AGENDA, 'gates:' .. queue, now)
  elseif settings(queue).rechecking then
    settings(queue).rechecking = nil
    redis.call('HDEL', key('settings', queue), 'rechecking')
  end
  add_work(#found / 100)
  wake(queue, 1)
end

-- Apply the changed limits of a queue. All parked lanes of the queue are checked again.
local function apply_queue_limits(queue)
  forget_settings(queue)
  local limits = settings(queue)
  local was_limited = limits.limited
  if limits.key_concurrency or limits.key_rate or limits.fair == 1 then
    use_lanes(queue)
  end
  if limits.governed or limits.concurrency or limits.rate then
    redis.call('HSET', key('settings', queue), 'limited', 1)
  else
    redis.call('HDEL', key('settings', queue), 'limited')
  end
  if was_limited then
    recheck_gates(queue)
  end
  write_back()
end

-- Delete a throttle: a named limit that jobs of several queues share. A throttle that is not set, or that has
-- ended, limits no job.
local function end_throttle(name)
  redis.call('DEL', key('throttle', name))
  redis.call('ZREM', THROTTLES, name)
  redis.call('ZREM', key('rates', ''), name)
  free_gate('t' .. name)
end
