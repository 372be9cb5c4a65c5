-- observe: statistics by queue and UTC day: count, mean and variance as they come (Welford), and a
-- histogram by second, minute, quarter hour, hour and day.
--
-- uses   keys now settings places

local DAY = 86400000
local LAST_DAY_BIN = 366

local today = math.floor(now / DAY)
local observations, tallies = {}, {}

local function bin(ms)
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

local function listed(lists, queue, name)
  local by_name = lists[queue]
  if not by_name then
    by_name = {}
    lists[queue] = by_name
  end
  if not by_name[name] then
    by_name[name] = {}
  end
  return by_name[name]
end

local function observe(queue, series, ms)
  if settings(queue).stats == 1 then
    local values = listed(observations, queue, series)
    values[#values + 1] = math.max(0, ms)
  end
end

local function tally(queue, what)
  if settings(queue).stats == 1 then
    local times = listed(tallies, queue, what)
    times[1] = (times[1] or 0) + 1
  end
end

local function forget_later(queue)
  local limits = settings(queue)
  local day_ends = (today + 1) * DAY
  redis.call('ZADD', key('days', queue), today, today)
  place(AGENDA, 'stats:' .. today .. ':' .. queue, day_ends + limits.stats_age)
  place(AGENDA, 'histogram:' .. today .. ':' .. queue, day_ends + limits.histogram_age)
end

local function write_series(queue, series, values)
  local summary = key('stats', today .. ':' .. queue)
  local stored = redis.call('HMGET', summary, series .. ':count', series .. ':mean', series .. ':vk')
  local n, mean, vk = tonumber(stored[1] or 0), tonumber(stored[2] or 0), tonumber(stored[3] or 0)
  if n == 0 then
    forget_later(queue)
  end
  local bins = {}
  for _, x in ipairs(values) do
    n = n + 1
    local before = mean
    mean = mean + (x - before) / n
    vk = vk + (x - mean) * (x - before)
    local name = bin(x)
    bins[name] = (bins[name] or 0) + 1
  end
  redis.call('HSET', summary, series .. ':count', n, series .. ':mean', string.format('%.17g', mean),
    series .. ':vk', string.format('%.17g', vk))
  local histogram = key('histogram', today .. ':' .. queue)
  for name, times in pairs(bins) do
    redis.call('HINCRBY', histogram, series .. ':' .. name, times)
  end
end

local function write_stats()
  for queue, by_series in pairs(observations) do
    for series, values in pairs(by_series) do
      write_series(queue, series, values)
    end
  end
  for queue, by_name in pairs(tallies) do
    for what, times in pairs(by_name) do
      if redis.call('HINCRBY', key('stats', today .. ':' .. queue), what, times[1]) == times[1] then
        forget_later(queue)
      end
    end
  end
end
