-- next_jobs: list the next jobs of a queue in the order in which pop would hand out these jobs.
--
-- uses   keys set_members now settings job_records peek_lanes

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
