-- grown: whether the event log has grown by so much that it is to be trimmed.

local TRIM_EVERY = 1024

local function grown_between(first, last)
  return math.floor(first / TRIM_EVERY) ~= math.floor(last / TRIM_EVERY)
end
