-- housekeeping_turn: let one caller at a time do the housekeeping that takes many calls, so that many waiting
-- clients do not all do it at once. A call that leaves work takes the turn for its caller. The turn ends when
-- the work is done, or when the caller has been silent for a while. Other callers meanwhile hand out the jobs
-- that wait already.
--
-- uses   keys now

local TURN_LASTS = 100

-- Who has the turn, or nil.
local turn_holder

-- Return whether this caller may do housekeeping.
local function has_turn(caller)
  local holder, ends = string.match(redis.call('GET', TURN) or '', '^(.*)%z(%d+)$')
  local left = holder and tonumber(ends) - now or 0
  turn_holder = left > 0 and left <= TURN_LASTS and holder or nil
  return not turn_holder or turn_holder == caller
end

-- Keep the turn of this caller until its next call, or end its turn.
local function pass_turn(caller, is_finished)
  if not is_finished then
    redis.call('SET', TURN, caller .. '\0' .. string.format('%d', now + TURN_LASTS))
  elseif turn_holder then
    redis.call('DEL', TURN)
  end
end
