-- stats: return the statistics of a queue on one day. The day is a number of days since 1970-01-01, or -1
-- for today.
--
-- args   queue day:int
-- flags  no-writes
-- uses   keys now
-- reply  {day, {field, value, ...} of the summary, {bin, count, ...}, failed jobs now}

local wanted = day
if wanted < 0 then
  wanted = math.floor(now / 86400000)
end
local name = string.format('%.0f', wanted) .. ':' .. queue
return {
  wanted, redis.call('HGETALL', key('stats', name)), redis.call('HGETALL', key('histogram', name)),
  redis.call('ZCARD', key('failed', queue)),
}
