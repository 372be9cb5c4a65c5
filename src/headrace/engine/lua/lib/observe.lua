-- observe: statistics by queue and UTC day: count, mean and variance as they come (Welford), and a
-- histogram by second, minute, quarter hour, hour and day.
--
-- uses   keys now settings places finishers

local DAY = 86400000
local LAST_DAY_BIN = 366

local observations = {}

local function observe(queue, series, ms)
  local values = observations[queue]
  if not values then
    values = { wait = {}, run = {}, failures = 0, retries = 0 }
    observations[queue] = values
  end
  if ms then
    local listed = values[series]
    listed[#listed + 1] = ms
  else
    values[series] = values[series] + 1
  end
end

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

local function write_series(summary, histogram, series, values)
  local stored = redis.call('HMGET', summary, series .. ':count', series .. ':mean', series .. ':vk')
  local n, mean, vk = tonumber(stored[1] or 0), tonumber(stored[2] or 0), tonumber(stored[3] or 0)
  local bins = {}
  for i = 1, #values do
    local x = math.max(0, values[i])
    n = n + 1
    local before = mean
    mean = mean + (x - before) / n
    vk = vk + (x - mean) * (x - before)
    local name = bin(x)
    bins[name] = (bins[name] or 0) + 1
  end
  redis.call('HSET', summary, series .. ':count', n, series .. ':mean', string.format('%.17g', mean),
    series .. ':vk', string.format('%.17g', vk))
  for name, times in pairs(bins) do
    redis.call('HINCRBY', histogram, series .. ':' .. name, times)
  end
end

local function write_stats(queue, seen)
  local limits = settings(queue)
  if limits.stats == 0 then
    return
  end
  local today = math.floor(now / DAY)
  local name = today .. ':' .. queue
  local summary = key('stats', name)
  if redis.call('EXISTS', summary) == 0 then
    local day_ends = (today + 1) * DAY
    redis.call('ZADD', key('days', queue), today, today)
    place(AGENDA, 'stats:' .. name, day_ends + limits.stats_age)
    place(AGENDA, 'histogram:' .. name, day_ends + limits.histogram_age)
  end
  for _, series in ipairs({ 'wait', 'run' }) do
    if #seen[series] > 0 then
      write_series(summary, key('histogram', name), series, seen[series])
    end
  end
  for _, what in ipairs({ 'failures', 'retries' }) do
    if seen[what] > 0 then
      redis.call('HINCRBY', summary, what, seen[what])
    end
  end
end

finishers[#finishers + 1] = function()
  for queue, seen in pairs(observations) do
    write_stats(queue, seen)
  end
end
