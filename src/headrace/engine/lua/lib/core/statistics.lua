-- statistics: statistics by queue and UTC day: count, running mean and variance (Welford), and a histogram
-- by second, minute, quarter hour, hour and day.
--
-- uses   keys now settings

local DAY = 86400000

-- Return the name of a queue's statistics of today, in UTC.
local function stats_day_name(queue)
  return string.format('%.0f', math.floor(now / DAY)) .. ':' .. queue
end

local LAST_DAY_BIN = 366

local function histogram_bin(ms)
  local seconds = math.floor(ms / 1000)
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

-- The first value of a day puts the day on the agenda, which deletes its statistics in time.
local function open_stats_day(queue)
  local name = stats_day_name(queue)
  if redis.call('EXISTS', key('stats', name)) == 0 then
    local limits = settings(queue)
    local day = math.floor(now / DAY)
    local day_ends = (day + 1) * DAY
    redis.call('ZADD', key('days', queue), day, day)
    redis.call('ZADD', AGENDA, day_ends + limits.stats_age, 'stats:' .. name,
      day_ends + limits.histogram_age, 'histogram:' .. name)
  end
  return name
end

local function write_series(queue, series, values)
  if #values == 0 then
    return
  end
  local day = open_stats_day(queue)
  local summary = key('stats', day)
  local n, mean, vk = unpack(redis.call('HMGET', summary, series .. ':count', series .. ':mean', series .. ':vk'))
  n, mean, vk = tonumber(n or 0), tonumber(mean or 0), tonumber(vk or 0)
  local bins = {}
  for i = 1, #values do
    local x = math.max(0, values[i])
    n = n + 1
    local before = mean
    mean = mean + (x - before) / n
    vk = vk + (x - mean) * (x - before)
    local name = histogram_bin(x)
    bins[name] = (bins[name] or 0) + 1
  end
  redis.call('HSET', summary, series .. ':count', n, series .. ':mean', string.format('%.17g', mean),
    series .. ':vk', string.format('%.17g', vk))
  for name, times in pairs(bins) do
    redis.call('HINCRBY', key('histogram', day), series .. ':' .. name, times)
  end
end
