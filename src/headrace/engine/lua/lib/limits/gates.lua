-- gates: limit how many jobs run at the same time or start within an interval. Each key of a queue has a
-- gate ('k' .. queue .. '\0' .. key), and each throttle has a gate ('t' .. name). A gate stores the running
-- jobs that count against its limits, with the deadlines of their leases. A job whose lease expired does
-- not count.
--
-- uses   keys now settings sorted_sets endless_leases job_records

-- Return this shard's part of a limit. Each shard enforces only its own part, so that all shards together
-- never exceed the limit.
local function shard_share(limit, shards)
  shards = tonumber(shards or 1)
  if not limit or limit == 'none' or shards == 1 then
    return limit and limit ~= 'none' and (tonumber(limit) or limit)
  end
  local number, span = string.match(limit, '^(%d+)(.*)$')
  local part = math.floor(number / shards)
  if shard_number() < number % shards then
    part = part + 1
  end
  return span == '' and part or part .. span
end

local function lane_key(queue, lane)
  return key('lane', queue .. '\0' .. lane)
end

-- The name of a lane contains the key and the throttles of the lane's jobs. Each of these parts ends with
-- '\0'. A job that has neither a key nor throttles is in the lane ''.
local function lane_of(job)
  local all = job.extra
  if not all or not (all.key or all.throttles) then
    return ''
  end
  return (all.key or '') .. '\0' .. (all.throttles and table.concat(all.throttles, '\0') .. '\0' or '')
end

local function gates_of(queue, job_key, throttles)
  local gates = {}
  if job_key then
    gates[1] = 'k' .. queue .. '\0' .. job_key
  end
  for i = 1, throttles and #throttles or 0 do
    gates[#gates + 1] = 't' .. throttles[i]
  end
  return gates
end

local function gates_of_job(job)
  return gates_of(job.queue, extra(job, 'key'), extra(job, 'throttles'))
end

local function gates_of_lane(queue, lane)
  if lane == '' then
    return {}
  end
  local key_ends = string.find(lane, '\0', 1, true)
  local throttles
  if key_ends < #lane then
    throttles = {}
    for name in string.gmatch(string.sub(lane, key_ends + 1), '(%Z*)%z') do
      throttles[#throttles + 1] = name
    end
  end
  return gates_of(queue, key_ends > 1 and string.sub(lane, 1, key_ends - 1), throttles)
end

local throttle_limits

local function limits_of_throttle(name)
  throttle_limits = throttle_limits or {}
  local found = throttle_limits[name]
  if not found then
    local concurrency, rate, shards = unpack(redis.call('HMGET', key('throttle', name),
      'concurrency', 'rate', 'shards'))
    found = { shard_share(concurrency, shards), shard_share(rate, shards) }
    throttle_limits[name] = found
  end
  return found[1], found[2]
end

-- Return the two limits of a gate for the jobs of a queue: how many jobs may run at the same time, and how many
-- may start per interval. False means that a limit is not set.
local function limits_of(queue, gate)
  if string.sub(gate, 1, 1) == 't' then
    return limits_of_throttle(string.sub(gate, 2))
  end
  local limits = settings(queue)
  return limits.key_concurrency, limits.key_rate
end

-- Return the sorted set and the member that store the used part of a gate's rate. The score is the time
-- when the whole rate is available again.
local function rate_place(gate)
  if string.sub(gate, 1, 1) == 't' then
    return key('rates', ''), string.sub(gate, 2)
  end
  return key('rates', string.match(gate, '^.(%Z*)')), gate
end

-- Return the time when the whole rate is available again. The unit is whole microseconds, so that no
-- fraction is lost.
local function rate_used_until(gate)
  return math.max(1000 * now, tonumber(redis.call('ZSCORE', rate_place(gate)) or 0))
end

-- Return how many jobs may start together after a pause, and the microseconds between two starts.
local function rate_step(rate)
  local starts, span = string.match(rate, '^(%d+)/(%d+)$')
  return tonumber(starts), math.max(1, math.floor(1000 * span / starts))
end

-- Return how many jobs may start now under a rate, and when the next job may start. If a rate was lowered,
-- more jobs may have started than the new rate allows. In this case the function returns 0, not a negative
-- number.
local function starts_left(gate, rate)
  local starts, step = rate_step(rate)
  if starts == 0 then
    return 0, math.huge
  end
  local used = rate_used_until(gate)
  return math.max(0, math.floor((1000 * now + starts * step - used) / step)),
    math.max(now, math.ceil((used + step - starts * step) / 1000))
end

local function use_rate(gate, rate)
  local _, step = rate_step(rate)
  local where, name = rate_place(gate)
  local free_at = rate_used_until(gate) + step
  local over = redis.call('ZRANGE', where, '-inf', string.format('%.0f', 1000 * now), 'BYSCORE', 'LIMIT', 0, 2)
  if #over > 0 then
    redis.call('ZREM', where, unpack(over))
  end
  redis.call('ZADD', where, string.format('%.0f', free_at), name)
end

local function running_at(gate)
  local where = key('gate', gate)
  flush_zset(where)
  return redis.call('ZCOUNT', where, '(' .. now, '+inf')
end

-- Return the time when a gate ends. Only the gate of a throttle can end, because only a throttle can be set
-- for a limited time.
local function ends_at(gate)
  if string.sub(gate, 1, 1) == 't' then
    return tonumber(redis.call('ZSCORE', THROTTLES, string.sub(gate, 2)) or math.huge)
  end
  return math.huge
end

-- Return nil if a gate is open, else the time when the gate may open by itself.
local function closed_until(queue, gate)
  local concurrency, rate = limits_of(queue, gate)
  if concurrency and running_at(gate) >= concurrency then
    local first = redis.call('ZRANGE', key('gate', gate), '(' .. now, '+inf', 'BYSCORE',
      'LIMIT', 0, 1, 'WITHSCORES')
    return math.min(end_of_lease(first[2]), ends_at(gate))
  end
  if rate then
    local left, moment = starts_left(gate, rate)
    return left <= 0 and math.min(moment, ends_at(gate)) or nil
  end
end

-- Return the first closed gate of a list, and the time when this gate may open by itself.
local function closed_gate(queue, gates)
  for i = 1, #gates do
    local moment = closed_until(queue, gates[i])
    if moment then
      return gates[i], moment
    end
  end
end

local function queue_capacity(queue)
  local limits = settings(queue)
  local free, moment = math.huge, now
  if limits.rate then
    free, moment = starts_left('q' .. queue, shard_share(limits.rate, limits.shards))
  end
  if limits.concurrency then
    flush_zsets()
    local room = shard_share(limits.concurrency, limits.shards)
      - redis.call('ZCOUNT', key('running', queue), '(' .. now, '+inf')
    if room <= 0 then
      local first = redis.call('ZRANGE', key('running', queue), '(' .. now, '+inf', 'BYSCORE', 'LIMIT',
        0, 1, 'WITHSCORES')
      return 0, end_of_lease(first[2])
    end
    free = math.min(free, room)
  end
  return free, moment
end
