-- lanes: in a queue with limits by key, throttles or fair scheduling, waiting jobs are also listed in lanes. A
-- lane holds the jobs of one key with the same throttles. A lane whose first job may start is eligible; a lane
-- that a gate holds back is parked there and costs nothing until the gate may be open again.
--
--   lane:<queue>\0<lane>     its jobs, ordered as they wait
--   turns:<queue>            eligible lanes: <number><lane>, by the priority of the first job
--   parked:<queue>\0<gate>   lanes parked at a gate, with the same members and scores
--   gated:<queue>            gates where lanes of the queue are parked, by the time of the next check
--   stops:<throttle>         queues with lanes parked at a throttle
--   lanes:<queue>            the state of each lane: eligible or parked, its number and its gate
--
-- uses   keys set_members now settings job_records sorted_sets events notices write_back_hooks gates use_lanes

local changed, freed = {}, {}

-- Note that a lane changed. `served` is the number of a delivery, or false if no job of the lane was delivered.
-- Expired leases can give a lane several deliveries in one call; the last one decides its turn.
local function change_lane(queue, lane, served)
  local lanes = changed[queue]
  if not lanes then
    lanes = {}
    changed[queue] = lanes
  end
  lanes[lane] = served or lanes[lane] or false
end

local function step_in(job, name)
  local lane = lane_of(job)
  if extra(job, 'throttles') then
    use_lanes(job.queue)
  end
  zset_add(lane_key(job.queue, lane), name, job.priority)
  change_lane(job.queue, lane, false)
end

local function step_out(job, name)
  local lane = lane_of(job)
  zset_remove(lane_key(job.queue, lane), name)
  change_lane(job.queue, lane, false)
end

local function parked_at(queue, gate)
  return key('parked', queue .. '\0' .. gate)
end

-- The state of a lane: T, its number and the gate that let it go; or P, its number and the gate where it is
-- parked.
local function lane_state(queue, lane)
  local state = redis.call('HGET', key('lanes', queue), lane)
  if state then
    local turn_and_gate = string.sub(state, 2)
    return string.sub(state, 1, 1), number_in(turn_and_gate), name_in(turn_and_gate)
  end
end

local function write_lane(queue, lane, state, turn, gate, priority)
  local where = state == 'T' and key('turns', queue) or parked_at(queue, gate)
  redis.call('ZADD', where, priority, turn .. lane)
  redis.call('HSET', key('lanes', queue), lane, state .. turn .. gate)
end

-- The gate may be open: the next pop of the queue checks it. One parked lane is let go at a time; when it
-- is served, ends or is parked elsewhere, the next one may try.
local function look_again(queue, gate)
  if gate ~= '' then
    redis.call('ZADD', key('gated', queue), 'XX', now, gate)
  end
end

-- Remove a lane from a gate. The gate needs no more checks after the last one.
local function leave_parked(queue, lane, turn, gate)
  redis.call('ZREM', parked_at(queue, gate), turn .. lane)
  if redis.call('EXISTS', parked_at(queue, gate)) == 0 then
    redis.call('ZREM', key('gated', queue), gate)
    if string.sub(gate, 1, 1) == 't' then
      redis.call('ZREM', key('stops', string.sub(gate, 2)), queue)
    end
  end
end

-- Lanes are served by the number of their first job. In a fair queue a lane keeps its number until it is
-- served, and then goes behind all others.
local function number_of(queue, first, turn, served)
  if turn and settings(queue).fair == 1 then
    return served and numbered(served, '') or turn
  end
  return number_in(first)
end

local function end_lane(queue, lane, state, turn, gate)
  redis.call('HDEL', key('lanes', queue), lane)
  if state == 'P' then
    leave_parked(queue, lane, turn, gate)
  else
    redis.call('ZREM', key('turns', queue), turn .. lane)
    look_again(queue, gate)
  end
end

-- Whether a lane has another position than the one that is stored, because its first job is another one or has
-- a new priority.
local function has_moved(where, lane, turn, next_turn, priority)
  return next_turn ~= turn or tonumber(redis.call('ZSCORE', where, turn .. lane)) ~= tonumber(priority)
end

-- A parked lane with a new first job may come before one that was let go.
local function refresh_parked(queue, lane, turn, gate, next_turn, priority)
  local where = parked_at(queue, gate)
  if has_moved(where, lane, turn, next_turn, priority) then
    redis.call('ZREM', where, turn .. lane)
    write_lane(queue, lane, 'P', next_turn, gate, priority)
    look_again(queue, gate)
  end
end

local function refresh_lane(queue, lane, served)
  local first = redis.call('ZRANGE', lane_key(queue, lane), 0, 0, 'WITHSCORES')
  local state, turn, gate = lane_state(queue, lane)
  if not first[1] then
    if state then
      end_lane(queue, lane, state, turn, gate)
    end
    return
  end
  local next_turn = number_of(queue, first[1], turn, served)
  if state == 'P' then
    refresh_parked(queue, lane, turn, gate, next_turn, first[2])
    return
  end
  local turns = key('turns', queue)
  -- A lane that was let go and now has a later position may come after one that is still parked.
  if state and (served or gate ~= '' and has_moved(turns, lane, turn, next_turn, first[2])) then
    look_again(queue, gate)
    gate = ''
  end
  if state and next_turn ~= turn then
    redis.call('ZREM', turns, turn .. lane)
  end
  write_lane(queue, lane, 'T', next_turn, gate or '', first[2])
end

local function refresh_lanes()
  if not next(changed) then
    return
  end
  flush_zsets()
  for queue, lanes in pairs(changed) do
    for lane, served in pairs(lanes) do
      refresh_lane(queue, lane, served)
    end
  end
  changed = {}
end

local function park(queue, lane, priority, gate, moment)
  local _, turn, came_from = lane_state(queue, lane)
  redis.call('ZREM', key('turns', queue), turn .. lane)
  write_lane(queue, lane, 'P', turn, gate, priority)
  if came_from ~= gate then
    look_again(queue, came_from)
  end
  redis.call('ZADD', key('gated', queue), moment == math.huge and 'inf' or moment, gate)
  if string.sub(gate, 1, 1) == 't' then
    redis.call('ZADD', key('stops', string.sub(gate, 2)), 0, queue)
  end
end

-- Make the first lane that is parked at a gate eligible again.
local function unpark(queue, gate)
  local first = redis.call('ZRANGE', parked_at(queue, gate), 0, 0, 'WITHSCORES')
  local turn, lane = number_in(first[1]), name_in(first[1])
  redis.call('ZADD', key('gated', queue), 'inf', gate)
  leave_parked(queue, lane, turn, gate)
  write_lane(queue, lane, 'T', turn, gate, first[2])
end

-- Check each gate that may be open by now, one lane each.
local function open_gates(queue, most)
  local due = redis.call('ZRANGE', key('gated', queue), '-inf', now, 'BYSCORE', 'LIMIT', 0, most)
  for _, gate in ipairs(due) do
    unpark(queue, gate)
  end
  return #due
end

-- A job starts to run: it counts at its gates until its lease ends.
local function pass_gates(job, deadline)
  local queue, lane = job.queue, lane_of(job)
  local limits = settings(queue)
  if limits.rate then
    use_rate('q' .. queue, shard_share(limits.rate, limits.shards))
  end
  for _, gate in ipairs(gates_of(queue, lane)) do
    local _, rate = limits_of(gate)
    if deadline then
      zset_add(key('gate', gate), job.id, deadline)
    end
    if rate then
      use_rate(gate, rate)
    end
  end
  if lane ~= '' or limits.governed then
    change_lane(queue, lane, number)
  end
end

-- If a lease now ends earlier, the lanes that wait for it are checked earlier.
local function renew_gates(job, deadline)
  for _, gate in ipairs(gates_of(job.queue, lane_of(job))) do
    local before = redis.call('ZSCORE', key('gate', gate), job.id)
    if before and tonumber(before) > tonumber(deadline) then
      freed[gate] = true
    end
    zset_add(key('gate', gate), job.id, deadline)
  end
end

local function leave_gates(job)
  for _, gate in ipairs(gates_of(job.queue, lane_of(job))) do
    zset_remove(key('gate', gate), job.id)
    freed[gate] = true
  end
end

-- Check the gate again in every queue with lanes parked there, and wake the queue's workers.
local function notify_queues_at(gate)
  local queues = { string.match(gate, '^k(%Z*)') }
  if not queues[1] then
    queues = redis.call('ZRANGE', key('stops', string.sub(gate, 2)), 0, -1)
  end
  for _, queue in ipairs(queues) do
    if redis.call('ZSCORE', key('gated', queue), gate) then
      look_again(queue, gate)
      wake(queue, 1)
    end
  end
end

write_back_hooks[#write_back_hooks + 1] = function()
  refresh_lanes()
  for gate in pairs(freed) do
    notify_queues_at(gate)
  end
end

local steps = {
  step_in = step_in,
  step_out = step_out,
  change = change_lane,
  refresh = refresh_lanes,
  park = park,
  open_gates = open_gates,
  pass_gates = pass_gates,
  renew_gates = renew_gates,
  leave_gates = leave_gates,
  closed_gate = function(job)
    return closed_gate(job.queue, lane_of(job))
  end,
  free = function(gate)
    freed[gate] = true
  end,
}

return function(step, ...)
  return steps[step](...)
end
