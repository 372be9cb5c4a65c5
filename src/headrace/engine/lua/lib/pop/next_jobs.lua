-- next_jobs: list the next jobs of a queue in the order in which pop would hand out these jobs. A fair queue
-- takes jobs from its lanes in turn. Other queues take jobs by priority and age. No lane contributes more jobs
-- than its gates allow.
--
-- uses   keys set_members now settings job_records gates

local LANES_AT_MOST = 100

-- Return how many more jobs of a lane may start now.
local function free_in(queue, lane)
  local free = math.huge
  for _, gate in ipairs(gates_of_lane(queue, lane)) do
    local concurrency, rate = limits_of(queue, gate)
    if concurrency then
      free = math.min(free, concurrency - running_at(gate))
    end
    if rate then
      free = math.min(free, (starts_left(gate, rate)))
    end
  end
  return free
end

-- For a lane, add the jobs that may start now to `into`, each job with its sort keys: priority, round and
-- position.
local function candidates(queue, lane, most, into)
  local free = free_in(queue, lane)
  if free <= 0 then
    return
  end
  local found = redis.call('ZRANGE', lane_key(queue, lane), 0, math.min(most, free) - 1, 'WITHSCORES')
  local ids = ids_in(found, 'waiting')
  read_jobs(ids)
  for i, id in ipairs(ids) do
    local job = read_job(id)
    if job and (extra(job, 'start_by') or math.huge) > now then
      into[#into + 1] = { id, tonumber(found[2 * i]), i, found[2 * i - 1] }
    end
  end
end

local function peek_lanes(queue, count, ids)
  local fair = settings(queue).fair == 1
  local wanted = count - #ids
  local found = {}
  local turns = wanted > 0 and redis.call('ZRANGE', key('turns', queue), 0, LANES_AT_MOST - 1) or {}
  for at, turn in ipairs(turns) do
    local first = #found + 1
    candidates(queue, name_in(turn), wanted, found)
    for i = first, #found do
      found[i][4] = fair and string.format('%06d', at) or found[i][4]
      found[i][3] = fair and found[i][3] or 0
    end
  end
  table.sort(found, function(one, other)
    for _, field in ipairs({ 2, 3, 4 }) do
      if one[field] ~= other[field] then
        return one[field] < other[field]
      end
    end
    return false
  end)
  for i = 1, math.min(wanted, #found) do
    ids[#ids + 1] = found[i][1]
  end
end

local PEEK_AT_MOST = 10000

-- Append the ids of waiting jobs to `ids`. Among the first 10000 waiting jobs, skip the jobs that pop would
-- expire instead of handing out.
local function peek_waiting(queue, count, ids)
  local page = math.max(count, 100)
  local from = 0
  while #ids < count and from < PEEK_AT_MOST do
    local found = redis.call('ZRANGE', key('waiting', queue), from, from + page - 1)
    for i, place_name in ipairs(found) do
      found[i] = name_in(place_name)
    end
    read_jobs(found)
    for _, id in ipairs(found) do
      local job = read_job(id)
      if job and #ids < count and (extra(job, 'start_by') or math.huge) > now then
        ids[#ids + 1] = id
      end
    end
    from = #found < page and PEEK_AT_MOST or from + page
  end
end

-- Append the ids of the next waiting jobs to `ids`, until `ids` has `count` elements.
local function list_next_jobs(queue, count, ids)
  if settings(queue).governed then
    peek_lanes(queue, count, ids)
  else
    peek_waiting(queue, count, ids)
  end
end

-- Return whether a pop would do housekeeping before it hands out jobs.
local function has_work_before_pop(queue)
  for _, where in ipairs({ SESSIONS, key('scheduled', queue), key('schedules', queue), key('gated', queue) }) do
    if tonumber(redis.call('ZRANGE', where, 0, 0, 'WITHSCORES')[2] or math.huge) <= now then
      return true
    end
  end
  return redis.call('EXISTS', key('ingress', queue)) == 1
end
