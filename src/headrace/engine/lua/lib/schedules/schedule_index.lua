-- schedule_index: keep indexes of schedules, sorted by the time of the next run. Each queue has an index of
-- its schedules. Another index, with an empty name, lists all schedules of the shard.
--
-- uses   keys sorted_sets

local function read_schedule(id)
  local stored = redis.call('HGETALL', key('schedule', id))
  if #stored == 0 then
    return nil
  end
  local schedule = { id = id }
  for i = 1, #stored, 2 do
    schedule[stored[i]] = stored[i + 1]
  end
  return schedule
end

local function list_schedule(id, queue, upcoming)
  zset_add(key('schedules', queue), id, upcoming)
  zset_add(key('schedules', ''), id, upcoming)
end

local function unlist_schedule(id, queue)
  zset_remove(key('schedules', queue), id)
  zset_remove(key('schedules', ''), id)
end
