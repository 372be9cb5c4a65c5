-- take_from_lanes: in a queue with lanes, jobs are handed out lane by lane: the first job of the lane
-- whose turn it is. A lane that meets a closed gate is parked there and not looked at again before the gate
-- may be open.
--
-- uses   keys places gates lane_key in_lanes

local PARK_AT_MOST = 256

return function(most)
  local lost_turns = 0
  local first_granted = #granted
  while #granted - first_granted < most and lost_turns < PARK_AT_MOST do
    lanes('refresh')
    lost_turns = lost_turns + lanes('open_gates', queue, PARK_AT_MOST - lost_turns)
    local first = redis.call('ZRANGE', key('turns', queue), 0, 0, 'WITHSCORES')
    if not first[1] then
      return false
    end
    local lane = string.sub(first[1], 17)
    local gate, moment = closed_gate(queue, lane)
    if gate then
      lanes('park', queue, lane, first[2], gate, moment)
    else
      local name = redis.call('ZRANGE', lane_key(queue, lane), 0, 0)[1]
      if not hand_out_waiting(string.sub(name, 17), name) then
        lift(lane_key(queue, lane), name)
        lanes('change', queue, lane, false)
      end
    end
  end
  lanes('refresh')
  return true
end
