-- stats: return the statistics of a queue on one day, given as its number since 1970-01-01; -1 is today.
--
-- args   queue day:int
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
