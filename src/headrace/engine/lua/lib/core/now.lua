-- now: read the server's clock in whole milliseconds. Scripts read no other clock. Tests replace this file.

local function current_time()
  local clock = redis.call('TIME')
  return clock[1] * 1000 + math.floor(clock[2] / 1000)
end
