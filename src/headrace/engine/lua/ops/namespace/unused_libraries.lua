-- unused_libraries: note the libraries that no connected client uses, and return those that every sweep of
-- the last `days` days has noted. A returned library is noted anew if it is loaded again.
--
-- args   days:int
-- each   name
-- flags  allow-oom
-- uses   keys now
-- reply  {name, ...}

local noted, unused = {}, {}
for name in each() do
  noted[name] = tonumber(redis.call('HGET', LIBRARIES, name) or now)
end
redis.call('DEL', LIBRARIES)
for name, since in pairs(noted) do
  if now - since >= days * 86400000 then
    unused[#unused + 1] = name
  else
    redis.call('HSET', LIBRARIES, name, since)
  end
end
return unused
