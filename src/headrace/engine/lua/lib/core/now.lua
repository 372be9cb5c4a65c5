-- now: the server's clock in whole milliseconds, the only clock that scripts read. Tests swap this file.

local now
do
  local clock = redis.call('TIME')
  now = clock[1] * 1000 + math.floor(clock[2] / 1000)
end
