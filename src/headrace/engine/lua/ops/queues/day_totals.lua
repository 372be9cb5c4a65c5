-- day_totals: return the books and the statistics of queues on one day, and the number of the newest event,
-- all at the same point in time. The day -1 means today.
--
-- args   day:int
-- each   queue
-- flags  no-writes
-- uses   keys now settings kept_jobs
-- reply  {number of the newest event, day, for each queue {creation time or false, {counter, value,
--        ...}, {field, value, ...} of the summary, {bin, count, ...}}}

local wanted = day
if wanted < 0 then
  wanted = math.floor(now / 86400000)
end
local reply = { tonumber(redis.call('HGET', LOG, 'number') or 0), wanted }
for queue in each() do
  local name = string.format('%.0f', wanted) .. ':' .. queue
  local limits = settings(queue)
  reply[#reply + 1] = {
    redis.call('HGET', key('settings', queue), 'created'), redis.call('HGETALL', key('books', queue)),
    is_day_kept(wanted, limits.stats_age) and redis.call('HGETALL', key('stats', name)) or {},
    is_day_kept(wanted, limits.histogram_age) and redis.call('HGETALL', key('histogram', name)) or {},
  }
end
return reply
