-- seek_events: where events stand in the log, by their numbers. What was trimmed is taken for the oldest
-- that is there, what has not happened yet for the newest. Times of entries never fall, so that each is
-- found by halving; nothing but the ends of halves is read.
--
-- each   number:int
-- uses   log_entries
-- reply  {} if the log is empty, else the ids of the oldest and the newest entry, and of each

local oldest = first_entry()
if not oldest then
  return {}
end
local newest = last_entry()
local first_ms, first_number = entry_parts(oldest)
local last_ms, last_number = entry_parts(newest)

local function seek(wanted)
  local low, high = first_ms, last_ms
  while low < high do
    local middle = math.floor((low + high) / 2)
    local _, reached = entry_parts(entry_at('XREVRANGE', string.format('%.0f', middle), '-'))
    if reached >= wanted then
      high = middle
    else
      low = middle + 1
    end
  end
  return entry_id(low, wanted)
end

local found = { oldest, newest }
for wanted in each() do
  wanted = math.max(first_number, math.min(last_number, wanted))
  found[#found + 1] = seek(wanted)
end
return found
