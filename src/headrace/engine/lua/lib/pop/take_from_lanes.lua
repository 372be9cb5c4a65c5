-- take_from_lanes: hand out jobs of a queue with lanes: the first job of the lane that is next. A lane at a
-- closed gate is parked there and skipped until the gate may be open. The number of checks that hand out
-- nothing is bounded. Every gate that may be open is checked before a job is handed out, so that the order
-- holds.
--
-- uses   keys set_members sorted_sets gates lane_access
-- needs  queue granted hand_out_waiting

local LOOK_AT_MOST = 64

local function serve(lane, priority)
  local gate, moment = closed_gate(queue, lane)
  if gate then
    return lanes('park', queue, lane, priority, gate, moment)
  end
  local name = redis.call('ZRANGE', lane_key(queue, lane), 0, 0)[1]
  if not hand_out_waiting(name_in(name), name) then
    zset_remove(lane_key(queue, lane), name)
    lanes('change', queue, lane, false)
  end
end

return function(most)
  local looked, last = 0, #granted + most
  while #granted < last do
    lanes('refresh')
    looked = looked + lanes('open_gates', queue, LOOK_AT_MOST - looked)
    if looked >= LOOK_AT_MOST then
      return true
    end
    local first = redis.call('ZRANGE', key('turns', queue), 0, 0, 'WITHSCORES')
    if not first[1] then
      return false
    end
    local granted_before = #granted
    serve(name_in(first[1]), first[2])
    if #granted == granted_before then
      looked = looked + 1
    end
  end
  lanes('refresh')
  return true
end
