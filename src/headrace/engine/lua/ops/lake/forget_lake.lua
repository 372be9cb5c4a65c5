-- forget_lake: delete the mark of a lake, which says how many events the lake has stored. The server then no
-- longer keeps events for this lake.
--
-- args   lake
-- flags  allow-oom
-- nonce  always
-- uses   keys sorted_sets trim_event_log
-- reply  1 if the lake was known, else 0

local known = redis.call('HDEL', LAKES, lake)
if known == 1 then
  trim_event_log()
  flush_zsets()
end
return known
