-- minutes: the first minute of the calendar that fits a cron rule.
--
-- uses   calendar

local DAY_MINUTES = 1440

local function seek_number(set, from, step)
  for n = from, step > 0 and #set - 1 or 0, step do
    if has(set, n) then
      return n
    end
  end
end

local function seek_in_day(rule, minute, step)
  local hour = math.floor(minute / 60)
  local found = has(rule.hours, hour) and seek_number(rule.minutes, minute % 60, step)
  if found then
    return 60 * hour + found
  end
  hour = seek_number(rule.hours, hour + step, step)
  return hour and 60 * hour + seek_number(rule.minutes, step > 0 and 0 or 59, step)
end

-- The first minute of the calendar that fits, at or beyond one, in the direction of step.
local function seek_minute(rule, minute, step)
  local day = math.floor(minute / DAY_MINUTES)
  local fits = seek_day(rule, day, step)
  local found = fits == day and seek_in_day(rule, minute - DAY_MINUTES * day, step)
  if fits == day and not found then
    fits = seek_day(rule, day + step, step)
  end
  return DAY_MINUTES * fits + (found or seek_in_day(rule, step > 0 and 0 or DAY_MINUTES - 1, step))
end
