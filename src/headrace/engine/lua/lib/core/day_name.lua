-- day_name: how the statistics of a queue and a UTC day are called; today, unless another is given.
--
-- uses   now

local DAY = 86400000

local function day_name(queue, given)
  return string.format('%.0f', given or math.floor(now / DAY)) .. ':' .. queue
end
