-- calendar: days since 1970 as dates, and the next or the last day that fits a cron rule. A rule is
-- packed by engine/cron.py: sets as texts with a 1 at the place of each number.

-- The longest that a rule keeps one waiting is forty years, for a 29 February on a given weekday.
local DAYS_TRIED = 5000

local function has(set, n)
  return string.byte(set, n + 1) == 49
end

-- Month and day of the month, by eras of 400 years that begin in March.
local function date_of(day)
  local of_era = (day + 719468) % 146097
  local year = math.floor((of_era - math.floor(of_era / 1460) + math.floor(of_era / 36524)
    - math.floor(of_era / 146096)) / 365)
  local of_year = of_era - 365 * year - math.floor(year / 4) + math.floor(year / 100)
  local from_march = math.floor((5 * of_year + 2) / 153)
  local date = of_year - math.floor((153 * from_march + 2) / 5) + 1
  return from_march < 10 and from_march + 3 or from_march - 9, date
end

local function beyond_month(day, date, step)
  if step < 0 then
    return day - date
  end
  local later = day - date + 32
  local _, over = date_of(later)
  return later - over + 1
end

local function seek_day(rule, day, step)
  for _ = 1, DAYS_TRIED do
    local month, date = date_of(day)
    local on_date, on_weekday = has(rule.days, date), has(rule.weekdays, (day + 4) % 7)
    if not has(rule.months, month) then
      day = beyond_month(day, date, step)
    elseif on_date and on_weekday or rule.either and (on_date or on_weekday) then
      return day
    else
      day = day + step
    end
  end
  error('no day fits the rule')
end
