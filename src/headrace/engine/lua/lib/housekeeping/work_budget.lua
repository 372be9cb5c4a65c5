-- work_budget: bound the work of one call, so that no call keeps the server busy for long. Each event that a call
-- writes counts as one unit of work, because every change of a job writes an event. For work that writes no
-- event, a call adds units with add_work. A call that has used its budget leaves its remaining housekeeping to
-- later calls.
--
-- uses   events

local WORK_AT_MOST = 512

local other_work = 0

-- Return how many of `wanted` units of work this call may still do.
local function work_left(wanted)
  local events = number and number - first_number or 0
  return math.floor(math.max(0, math.min(wanted, WORK_AT_MOST - events - other_work)))
end

local function add_work(units)
  other_work = other_work + units
end
