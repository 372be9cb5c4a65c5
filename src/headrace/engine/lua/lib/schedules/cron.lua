-- cron: the next and the last time of a cron rule in a time zone. Where the clock of the zone is
-- changed, a rule of fixed times keeps to the clock on the wall: what falls in the hour that is left
-- out comes right after it, once, and what falls in the hour that comes twice comes the first time.
-- Other rules keep to real time.
--
-- uses   minutes

local function read_rule(packed, packed_offsets)
  local rule = {}
  rule.minutes, rule.hours, rule.days, rule.months, rule.weekdays, rule.either, rule.fixed =
    unpack(cmsgpack.unpack(packed))
  rule.offsets = packed_offsets ~= '' and cmsgpack.unpack(packed_offsets) or { 0, 0 }
  return rule
end

-- The offsets are periods: since when, how much, and so on. The first reaches back for ever.
local function period_at(rule, seconds)
  local at = #rule.offsets - 1
  while at > 1 and rule.offsets[at] > seconds do
    at = at - 2
  end
  return at
end

-- When a period begins by the clock on the wall. After a change, that of the one before goes on for
-- a rule of fixed times until it has shown all.
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

-- At that moment or before it.
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
