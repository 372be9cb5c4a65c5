-- import_stats: add the figures of another queue for one day to the statistics of that day, once for each
-- import. The day stores the name of the import, because the log has no events for these figures.
--
-- args   import_name queue day:int figures:packed
-- uses   keys now open_queue statistics
-- reply  1, or 0 if this import already added the day

local FIELD = 'imported:'

local summary = key('stats', string.format('%.0f', day) .. ':' .. queue)
if redis.call('HEXISTS', summary, FIELD .. import_name) == 1 then
  return 0
end

local function add_series(where, name, series, more)
  local n, mean, vk = unpack(redis.call('HMGET', where, series .. ':count', series .. ':mean', series .. ':vk'))
  n, mean, vk = tonumber(n or 0), tonumber(mean or 0), tonumber(vk or 0)
  local total, apart = n + more.count, more.mean - mean
  redis.call('HSET', where, series .. ':count', total,
    series .. ':mean', string.format('%.17g', mean + apart * more.count / total),
    series .. ':vk', string.format('%.17g', vk + more.vk + apart * apart * n * more.count / total))
  for bin_name, times in pairs(more.bins) do
    redis.call('HINCRBY', key('histogram', name), series .. ':' .. bin_name, times)
  end
end

open_queue(queue)
local name = open_stats_day(queue, day)
redis.call('HSET', summary, FIELD .. import_name, now)
for _, series in ipairs({ 'wait', 'run' }) do
  if figures[series].count > 0 then
    add_series(summary, name, series, figures[series])
  end
end
for _, what in ipairs({ 'failures', 'retries' }) do
  if figures[what] > 0 then
    redis.call('HINCRBY', summary, what, figures[what])
  end
end
return 1
