-- log_needs_trim: whether the event log has grown enough to be trimmed.

local TRIM_EVERY = 1024

local function log_needs_trim(first, last)
  return math.floor(first / TRIM_EVERY) ~= math.floor(last / TRIM_EVERY)
end
