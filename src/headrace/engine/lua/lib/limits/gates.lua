-- gates: limit how many jobs run at once or start within a time: one for each key of a queue ('k' ..
-- queue .. '\0' .. key) and for each throttle ('t' .. name). A gate stores the running jobs behind it and
-- their deadlines; an expired lease does not count.
--
-- uses   keys now settings sorted_sets

-- Return this shard's part of a limit. Each shard enforces its own part, so that all shards together never
-- exceed the limit.
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

-- A lane is a key and throttles, each followed by '\0'; a job with neither is in the lane ''.
local function lane_of(job)
  local all = job.extra
  if not all or not (all.key or all.throttles) then
    return ''
  end
  return (all.key or '') .. '\0' .. (all.throttles and table.concat(all.throttles, '\0') .. '\0' or '')
end

local function gates_of(queue, lane)
  local gates = {}
  for name in string.gmatch(lane, '(%Z*)%z') do
    if #gates > 0 or gates.keyless then
      gates[#gates + 1] = 't' .. name
    elseif name ~= '' then
      gates[1] = 'k' .. queue .. '\0' .. name
    else
      gates.keyless = true
    end
  end
  return gates
end

local gate_limits = {}

-- Return how many jobs may run at once, and how many may start in how many milliseconds; false for no
-- limit.
local function limits_of(gate)
  local found = gate_limits[gate]
  if not found then
    if string.sub(gate, 1, 1) == 'k' then
      local limits = settings(string.match(gate, '^k(%Z*)%z'))
      found = { limits.key_concurrency, limits.key_rate }
    else
      local concurrency, rate, shards = unpack(redis.call('HMGET', key('throttle', string.sub(gate, 2)),
        'concurrency', 'rate', 'shards'))
      found = { shard_share(concurrency, shards), shard_share(rate, shards) }
    end
    gate_limits[gate] = found
  end
  return found[1], found[2]
end

-- Return where the used part of a gate's rate is stored: the time when all of it is free again.
local function rate_place(gate)
  if string.sub(gate, 1, 1) == 't' then
    return key('rates', ''), string.sub(gate, 2)
  end
  return key('rates', string.match(gate, '^.(%Z*)')), gate
end

-- In whole microseconds, so that no fraction is lost.
local function rate_used_until(gate)
  return math.max(1000 * now, tonumber(redis.call('ZSCORE', rate_place(gate)) or 0))
end

-- Return how many jobs may start at once after a pause, and the microseconds between two starts.
local function rate_step(rate)
  local starts, span = string.match(rate, '^(%d+)/(%d+)$')
  return tonumber(starts), math.max(1, math.floor(1000 * span / starts))
end

-- Return how many jobs may start now under a rate, and when the next one may. After a rate was lowered, more
-- may have started than it allows; that is 0, not a negative number.
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
  return redis.call('ZCOUNT', key('gate', gate), '(' .. now, '+inf')
end

-- Return when a gate ends: a throttle may be set for a limited time.
local function ends_at(gate)
  if string.sub(gate, 1, 1) == 't' then
    return tonumber(redis.call('ZSCORE', THROTTLES, string.sub(gate, 2)) or math.huge)
  end
  return math.huge
end

-- Return nil if the gate is open, else when it may open by itself.
local function closed_until(gate)
  local concurrency, rate = limits_of(gate)
  if concurrency then
    flush_zsets()
    if running_at(gate) >= concurrency then
      local first = redis.call('ZRANGE', key('gate', gate), '(' .. now, '+inf', 'BYSCORE',
        'LIMIT', 0, 1, 'WITHSCORES')
      return math.min(tonumber(first[2] or math.huge), ends_at(gate))
    end
  end
  if rate then
    local left, moment = starts_left(gate, rate)
    return left <= 0 and math.min(moment, ends_at(gate)) or nil
  end
end

local function closed_gate(queue, lane)
  for _, gate in ipairs(gates_of(queue, lane)) do
    local moment = closed_until(gate)
    if moment then
      return gate, moment
    end
  end
end
