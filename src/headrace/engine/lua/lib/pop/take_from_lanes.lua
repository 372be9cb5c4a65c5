-- take_from_lanes: hand out jobs of a queue with lanes, always the first job of the next lane. A lane at a
-- closed gate is parked at this gate and skipped until the gate may be open. Every gate that may be open is
-- checked before a job is handed out, so that the jobs stay in order. The number of checks that hand out no job
-- is bounded. If more gates may be open, later pops check the other gates.
--
-- uses   lanes hand_out keys set_members sorted_sets gates work_budget

local LOOK_AT_MOST = 64

local function serve(lane, priority)
  local gate, moment = closed_gate(pop_queue, gates_of_lane(pop_queue, lane))
  if gate then
    return park(pop_queue, lane, priority, gate, moment)
  end
  local name = redis.call('ZRANGE', lane_key(pop_queue, lane), 0, 0)[1]
  if not hand_out_waiting(name_in(name), name) then
    zset_remove(lane_key(pop_queue, lane), name)
    change_lane(pop_queue, lane, false)
  end
end

local function take_from_lanes(most)
  local looked, parked, last = 0, 0, #granted + most
  while #granted < last and parked < LOOK_AT_MOST and work_left(1) == 1 do
    refresh_lanes()
    if looked < LOOK_AT_MOST then
      looked = looked + open_gates(pop_queue, LOOK_AT_MOST - looked)
    end
    local first = redis.call('ZRANGE', key('turns', pop_queue), 0, 0, 'WITHSCORES')
    if not first[1] then
      return looked >= LOOK_AT_MOST
    end
    local granted_before = #granted
    serve(name_in(first[1]), first[2])
    if #granted == granted_before then
      parked = parked + 1
    end
  end
  refresh_lanes()
  return true
end
