-- housekeeping_turn: let one caller at a time do housekeeping that takes many calls, so that many waiting clients
-- do not all do this housekeeping at once. If a call cannot finish the housekeeping, its caller takes the turn:
-- the key `turn` then names this caller. The turn ends when the housekeeping is done, when the caller has made no
-- call for TURN_LASTS milliseconds, or after SKIPS_AT_MOST calls of other callers that found no job. Meanwhile,
-- the other callers skip the housekeeping and pop the jobs that already wait.
--
-- uses   keys now

local TURN_LASTS, SKIPS_AT_MOST = 100, 64

-- The caller that has the turn, the time when the turn ends, and the number of calls by other callers that have
-- found no job during the turn.
local turn_holder, turn_ends, skips

local function write_turn(caller, ends, number_of_skips)
  redis.call('SET', TURN, caller .. '\0' .. string.format('%d', ends) .. '\0' .. number_of_skips)
end

-- Return whether this caller may do housekeeping.
local function has_turn(caller)
  turn_holder, turn_ends, skips = string.match(redis.call('GET', TURN) or '', '^(.*)%z(%d+)%z(%d+)$')
  turn_ends, skips = tonumber(turn_ends or 0), tonumber(skips or 0)
  -- If the clock was set back, the turn ends too.
  return turn_ends <= now or turn_ends > now + TURN_LASTS or skips >= SKIPS_AT_MOST or turn_holder == caller
end

-- Record that a caller without the turn found no job.
local function skip_turn()
  write_turn(turn_holder, turn_ends, skips + 1)
end

-- Keep the turn of this caller until its next call, or end its turn.
local function pass_turn(caller, is_finished)
  if not is_finished then
    write_turn(caller, now + TURN_LASTS, 0)
  elseif turn_holder then
    redis.call('DEL', TURN)
  end
end
