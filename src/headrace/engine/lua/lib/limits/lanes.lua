-- lanes: list the waiting jobs of a queue a second time, in lanes, if the queue has limits per key, throttles or
-- fair scheduling. A lane contains the jobs of one key that have the same throttles. A gate is the limit of one
-- key or throttle. If the first job of a lane may start, the lane is eligible. If a gate is closed for this job,
-- the lane is parked at this gate, and pop ignores the lane until the gate may be open again. A lane is served
-- when its first job is delivered.
--
--   lane:<queue>\0<lane>     the waiting jobs of a lane, in order
--   turns:<queue>            eligible lanes: <number><lane>, by the priority of the first job
--   parked:<queue>\0<gate>   lanes parked at a gate, with the same members and scores
--   gated:<queue>            gates where lanes of the queue are parked, by the time of the next check
--   stops:<throttle>         queues with lanes parked at a throttle
--   lanes:<queue>            the state of each lane: eligible or parked, its number and its gate
--
-- uses   keys set_members now settings job_records sorted_sets events notices gates change_limits

-- `changed` contains changed lanes by <queue>\0<lane>: {queue, lane, number, added}. The number is the event
-- number of a delivery from the lane, or false if there was none. If the only change is a new member of the lane,
-- `added` is that member. `freed` contains the gates that may be open.
local changed, freed

-- Record that a lane changed. `served` is the event number of a delivery, or false if no job of the lane
-- was delivered. Expired leases can cause several deliveries from one lane in one call. In this case, the
-- last delivery determines the next turn of the lane. Return the key of the lane.
local function change_lane(queue, lane, served, added)
  local name = queue .. '\0' .. lane
  changed = changed or {}
  local before = changed[name]
  if before then
    before[3], before[4] = served or before[3], false
  else
    changed[name] = { queue, lane, served, added }
  end
  return key('lane', name)
end

-- List a waiting job in its lane.
local function step_in(job, name)
  if extra(job, 'throttles') then
    use_lanes(job.queue)
  end
  zset_add(change_lane(job.queue, lane_of(job), false, name), name, extra(job, 'first') and '-inf' or job.priority)
end

-- Move a job within its lane to the position of its new priority.
local function move_in_lane(job, name)
  zset_add(change_lane(job.queue, lane_of(job), false, false), name, job.priority)
end

local function step_out(job, name)
  zset_remove(change_lane(job.queue, lane_of(job), false, false), name)
end

local function parked_at(queue, gate)
  return key('parked', queue .. '\0' .. gate)
end

-- Return the state of a lane, the number of the lane, and a gate. The state T means eligible, and the gate
-- is the gate that released the lane. The state P means parked, and the gate is the gate where the lane is
-- parked.
local function lane_state(queue, lane)
  local state = redis.call('HGET', key('lanes', queue), lane)
  if state then
    local turn_ends = 2 + string.byte(state, 2)
    return string.sub(state, 1, 1), string.sub(state, 2, turn_ends), string.sub(state, turn_ends + 1)
  end
end

local function write_lane(queue, lane, state, turn, gate, priority)
  local where = state == 'T' and key('turns', queue) or parked_at(queue, gate)
  redis.call('ZADD', where, priority, turn .. lane)
  redis.call('HSET', key('lanes', queue), lane, state .. turn .. gate)
end

-- Let the next pop of the queue check a gate that may be open. A gate releases one parked lane at a time.
-- When the released lane is served, becomes empty or is parked at another gate, the gate may release the
-- next lane.
local function look_again(queue, gate)
  if gate ~= '' then
    redis.call('ZADD', key('gated', queue), 'XX', now, gate)
  end
end

-- Remove a lane from a gate. A gate that has no parked lanes left needs no more checks.
local function leave_parked(queue, lane, turn, gate)
  redis.call('ZREM', parked_at(queue, gate), turn .. lane)
  if redis.call('EXISTS', parked_at(queue, gate)) == 0 then
    redis.call('ZREM', key('gated', queue), gate)
    if string.sub(gate, 1, 1) == 't' then
      redis.call('ZREM', key('stops', string.sub(gate, 2)), queue)
    end
  end
end

-- Lanes of equal priority are served in the order of the sequence numbers of their first jobs. In a fair
-- queue, a lane keeps its number until the lane is served, and then moves behind all other lanes.
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

-- Return whether the stored position of a lane is out of date, because the lane has another first job or
-- the first job has a new priority.
local function has_moved(where, lane, turn, next_turn, priority)
  return next_turn ~= turn or tonumber(redis.call('ZSCORE', where, turn .. lane)) ~= tonumber(priority)
end

-- A parked lane with a new first job may now come before a lane that the gate has already released.
local function refresh_parked(queue, lane, turn, gate, next_turn, priority)
  local where = parked_at(queue, gate)
  if has_moved(where, lane, turn, next_turn, priority) then
    redis.call('ZREM', where, turn .. lane)
    write_lane(queue, lane, 'P', next_turn, gate, priority)
    look_again(queue, gate)
  end
end

local function refresh_lane(where, queue, lane, served, added)
  flush_zset(where)
  local first = redis.call('ZRANGE', where, 0, 0, 'WITHSCORES')
  if added and first[1] ~= added then
    return
  end
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
  -- A released lane that now has a later position may come after a lane that is still parked.
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
  if changed then
    for name, change in pairs(changed) do
      refresh_lane(key('lane', name), unpack(change))
    end
    changed = nil
  end
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

-- Check each gate that may be open by now. Each of these gates releases one lane.
local function open_gates(queue, most)
  local due = redis.call('ZRANGE', key('gated', queue), '-inf', now, 'BYSCORE', 'LIMIT', 0, most)
  for _, gate in ipairs(due) do
    unpark(queue, gate)
  end
  return #due
end

-- At each gate of a job that starts to run, count the job until its lease ends.
local function pass_gates(job, deadline)
  local queue = job.queue
  local limits, gates = settings(queue), gates_of_job(job)
  if limits.rate then
    use_rate('q' .. queue, shard_share(limits.rate, limits.shards))
  end
  for i = 1, #gates do
    local gate = gates[i]
    local _, rate = limits_of(queue, gate)
    if deadline then
      zset_add(key('gate', gate), job.id, deadline)
    end
    if rate then
      use_rate(gate, rate)
    end
  end
  if gates[1] or limits.governed then
    change_lane(queue, lane_of(job), number)
  end
end

local function free_gate(gate)
  freed = freed or {}
  freed[gate] = true
end

-- If a lease now ends earlier than before, the lanes that wait for its end are checked earlier.
local function renew_gates(job, deadline)
  for _, gate in ipairs(gates_of_job(job)) do
    local before = redis.call('ZSCORE', key('gate', gate), job.id)
    if before and tonumber(before) > tonumber(deadline) then
      free_gate(gate)
    end
    zset_add(key('gate', gate), job.id, deadline)
  end
end

local function leave_gates(job)
  for _, gate in ipairs(gates_of_job(job)) do
    zset_remove(key('gate', gate), job.id)
    free_gate(gate)
  end
end

-- Check a gate again in every queue that has lanes parked at the gate, and wake the workers of these
-- queues.
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

local function write_lanes()
  refresh_lanes()
  if freed then
    for gate in pairs(freed) do
      notify_queues_at(gate)
    end
  end
end

local function closed_gate_of(job)
  return closed_gate(job.queue, gates_of_job(job))
end
