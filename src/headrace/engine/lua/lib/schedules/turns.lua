-- turns: the turns of a schedule that are to be made up to now, oldest first: of those that were
-- missed the newest, as many as its backlog says and one more. Up to so many in one call; then when
-- the first one comes that was left.
--
-- uses   now cron

local function turns_of_interval(schedule, most)
  local every, first = tonumber(schedule.every), tonumber(schedule.next)
  local missed = math.floor((now - first) / every) + 1
  local wanted = math.min(missed, (tonumber(schedule.backlog) or math.huge) + 1)
  local turns = {}
  for i = 1, math.min(wanted, most) do
    turns[i] = first + (missed - wanted + i - 1) * every
  end
  return turns, first + (missed - wanted + #turns) * every
end

local function every_turn(rule, after, most)
  local turns = {}
  local at = time_after(rule, after)
  while at <= now and #turns < most do
    turns[#turns + 1] = at
    at = time_after(rule, at)
  end
  return turns, at
end

local function newest_turns(rule, after, backlog, most)
  local newest = {}
  local at = time_until(rule, now)
  while at > after and #newest <= backlog do
    newest[#newest + 1] = at
    at = time_until(rule, at - 1)
  end
  local turns = {}
  for i = 1, math.min(#newest, most) do
    turns[i] = newest[#newest - i + 1]
  end
  return turns, newest[#newest - #turns] or time_after(rule, now)
end

local function turns_of(schedule, most)
  if schedule.every then
    return turns_of_interval(schedule, most)
  end
  local rule, after = read_rule(schedule.rule, schedule.offsets), tonumber(schedule.after)
  local backlog = tonumber(schedule.backlog)
  if backlog then
    return newest_turns(rule, after, backlog, most)
  end
  return every_turn(rule, after, most)
end
