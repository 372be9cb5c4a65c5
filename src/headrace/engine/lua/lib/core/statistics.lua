-- statistics: keep statistics of waiting and running times for each queue and UTC day: the count, the mean
-- and the variance (by Welford's method). A histogram counts the times in bins of one second, one minute,
-- 15 minutes, one hour and one day.
--
-- uses   keys now settings

local DAY = 86400000

-- Return the name of today's statistics of a queue. Days are UTC days.
local function stats_day_name(queue)
  return string.format('%d', math.floor(now / DAY)) .. ':' .. queue
end

local LAST_DAY_BIN = 366

local function histogram_bin(seconds)
  if seconds < 60 then
    return 's' .. seconds
  elseif seconds < 3600 then
    return 'm' .. math.floor(seconds / 60)
  elseif seconds < 86400 then
    return 'q' .. math.floor(seconds / 900)
  elseif seconds < 259200 then
    return 'h' .. math.floor(seconds / 3600)
  end
  return 'd' .. math.min(LAST_DAY_BIN, math.floor(seconds / 86400))
end

-- The first value of a day adds two entries to the agenda. These entries later delete the statistics and
-- the histogram of that day.
local function open_stats_day(queue, name)
  if redis.call('EXISTS', key('stats', name)) == 0 then
    local limits = read_settings(queue)
    local day = math.floor(now / DAY)
    local day_ends = (day + 1) * DAY
    redis.call('ZADD', key('days', queue), day, day)
    redis.call('ZADD', AGENDA, day_ends + limits.stats_age, 'stats:' .. name,
      day_ends + limits.histogram_age, 'histogram:' .. name)
  end
end

local function count_on_day(queue, what, times)
  local day = stats_day_name(queue)
  open_stats_day(queue, day)
  redis.call('HINCRBY', key('stats', day), what, times)
end

-- Count times in bins. The times are already counted by whole seconds, so the name of a bin is made only once for
-- all times of the same second.
local function write_histogram(where, series, by_seconds)
  local bins = {}
  for seconds, times in pairs(by_seconds) do
    local name = histogram_bin(seconds)
    bins[name] = (bins[name] or 0) + times
  end
  for name, times in pairs(bins) do
    redis.call('HINCRBY', where, series .. ':' .. name, times)
  end
end

local function write_series(queue, series, values)
  local day = stats_day_name(queue)
  local summary = key('stats', day)
  local n, mean, vk = unpack(redis.call('HMGET', summary, series .. ':count', series .. ':mean', series .. ':vk'))
  if not n then
    open_stats_day(queue, day)
  end
  n, mean, vk = tonumber(n or 0), tonumber(mean or 0), tonumber(vk or 0)
  local by_seconds = {}
  for i = 1, #values do
    local x = values[i] > 0 and values[i] or 0
    n = n + 1
    local before = mean
    mean = mean + (x - before) / n
    vk = vk + (x - mean) * (x - before)
    local seconds = (x - x % 1000) / 1000
    by_seconds[seconds] = (by_seconds[seconds] or 0) + 1
  end
  redis.call('HSET', summary, series .. ':count', n, series .. ':mean', string.format('%.17g', mean),
    series .. ':vk', string.format('%.17g', vk))
  write_histogram(key('histogram', day), series, by_seconds)
end
