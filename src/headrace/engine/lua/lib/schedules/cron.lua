-- cron: find the next and the previous run of a cron rule in a time zone. When the UTC offset of the zone
-- changes, a rule with fixed times follows local time. A run in a skipped hour happens once, right after
-- that hour. A run in a repeated hour happens only the first time. Other rules follow elapsed time.
-- engine/cron.py packs a rule: each set of numbers is a string with a 1 at the position of each number in
-- the set.

-- The longest gap between two days of a rule is forty years, for 29 February on one weekday.
local DAYS_TRIED = 5000

local function contains(set, n)
  return string.byte(set, n + 1) == 49
end

-- Return the month and the day of the month of a day number. The calculation uses eras of 400 years that
-- begin in March.
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
    local on_date, on_weekday = contains(rule.days, date), contains(rule.weekdays, (day + 4) % 7)
    if not contains(rule.months, month) then
      day = beyond_month(day, date, step)
    elseif on_date and on_weekday or rule.either and (on_date or on_weekday) then
      return day
    else
      day = day + step
    end
  end
  error('no day fits the rule')
end

local DAY_MINUTES = 1440

local function seek_number(set, from, step)
  for n = from, step > 0 and #set - 1 or 0, step do
    if contains(set, n) then
      return n
    end
  end
end

local function seek_in_day(rule, minute, step)
  local hour = math.floor(minute / 60)
  local found = contains(rule.hours, hour) and seek_number(rule.minutes, minute % 60, step)
  if found then
    return 60 * hour + found
  end
  hour = seek_number(rule.hours, hour + step, step)
  return hour and 60 * hour + seek_number(rule.minutes, step > 0 and 0 or 59, step)
end

-- Return the nearest matching minute: at or after `minute` if step is 1, at or before `minute` if step is
-- -1.
local function seek_minute(rule, minute, step)
  local day = math.floor(minute / DAY_MINUTES)
  local fits = seek_day(rule, day, step)
  local found = fits == day and seek_in_day(rule, minute - DAY_MINUTES * day, step)
  if fits == day and not found then
    fits = seek_day(rule, day + step, step)
  end
  return DAY_MINUTES * fits + (found or seek_in_day(rule, step > 0 and 0 or DAY_MINUTES - 1, step))
end

local function read_rule(packed, packed_offsets)
  local rule = {}
  rule.minutes, rule.hours, rule.days, rule.months, rule.weekdays, rule.either, rule.fixed =
    unpack(cmsgpack.unpack(packed))
  rule.offsets = packed_offsets ~= '' and cmsgpack.unpack(packed_offsets) or { 0, 0 }
  return rule
end

-- rule.offsets is a flat list of pairs: the start of a period, and the UTC offset in that period. The first
-- period also covers all earlier times.
local function period_at(rule, seconds)
  local at = #rule.offsets - 1
  while at > 1 and rule.offsets[at] > seconds do
    at = at - 2
  end
  return at
end

-- Return the local time at which a period begins. For a rule with fixed times, a period begins at the local
-- time at which the previous period ended, so that no local time is skipped or repeated.
local function first_local(rule, at)
  if at == 1 then
    return -math.huge
  end
  return rule.offsets[at] + rule.offsets[rule.fixed and at - 1 or at + 1]
end

local function last_local(rule, at)
  return rule.offsets[at + 2] and rule.offsets[at + 2] + rule.offsets[at + 1] or math.huge
end

local function as_moment(rule, at, minute)
  local seconds = 60 * minute - rule.offsets[at + 1]
  return 1000 * (at == 1 and seconds or math.max(seconds, rule.offsets[at]))
end

local function time_after(rule, moment)
  local seconds = math.floor(moment / 1000)
  local at = period_at(rule, seconds)
  local from = math.floor((seconds + rule.offsets[at + 1]) / 60) + 1
  while true do
    from = math.max(from, math.ceil(first_local(rule, at) / 60))
    local minute = seek_minute(rule, from, 1)
    if 60 * minute < last_local(rule, at) then
      return as_moment(rule, at, minute)
    end
    at = at + 2
    from = -math.huge
  end
end

-- Return the last run of a rule at or before a timestamp.
local function time_until(rule, moment)
  local seconds = math.floor(moment / 1000)
  local at = period_at(rule, seconds)
  local from = math.floor((seconds + rule.offsets[at + 1]) / 60)
  while true do
    local minute = seek_minute(rule, from, -1)
    if 60 * minute >= first_local(rule, at) then
      return as_moment(rule, at, minute)
    end
    at = at - 2
    from = math.ceil(last_local(rule, at) / 60) - 1
  end
end
