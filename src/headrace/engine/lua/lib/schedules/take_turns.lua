-- take_turns: schedules that are due make their jobs, one for each turn. A job counts as put when
-- its turn came. A turn is skipped if its job would be unique and there is one. True when nothing is
-- left over for another call.
--
-- uses   keys now jobs make claims schedules turns

local TURNS_AT_MOST = 100

local left = TURNS_AT_MOST

-- Ids that somebody else has taken are passed over.
local function next_id(schedule)
  while left > 0 do
    left = left - 1
    schedule.counter = schedule.counter + 1
    local id = schedule.prefix .. '-' .. schedule.counter
    if not read_job(id) then
      return id
    end
  end
end

local function take_turn(schedule, given, at)
  if rival(schedule.queue, given.unique, '') then
    left = left - 1
    schedule.skipped = schedule.skipped + 1
    return true
  end
  local id = next_id(schedule)
  if not id then
    return false
  end
  local job = make(schedule.queue, id, schedule.data, given, '', { 'schedule', schedule.id })
  job.put_at = at
  job.since = at
  set_extra(job, 'schedule', schedule.id)
  schedule.made = schedule.made + 1
  return true
end

local function go_on(schedule)
  local turns, upcoming = turns_of(schedule, left)
  local given = schedule.options ~= '' and cmsgpack.unpack(schedule.options) or {}
  local start_within = given.start_within
  for _, at in ipairs(turns) do
    given.start_within = start_within and start_within + at - now
    if not take_turn(schedule, given, at) then
      upcoming = at
      break
    end
    schedule.after = at
    schedule.last = at
  end
  redis.call('HSET', key('schedule', schedule.id), 'next', upcoming, 'counter', schedule.counter,
    'made', schedule.made, 'skipped', schedule.skipped, 'after', schedule.after,
    'last', schedule.last or '')
  list_schedule(schedule.id, schedule.queue, upcoming)
end

return function(queue, due)
  for _, id in ipairs(due) do
    local schedule = left > 0 and read_schedule(id)
    if schedule then
      go_on(schedule)
    elseif left > 0 then
      unlist_schedule(id, queue)
    end
  end
  return left > 0
end
