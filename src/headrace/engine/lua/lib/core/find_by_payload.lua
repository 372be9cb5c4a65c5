-- find_by_payload: find the jobs of a queue that are pending or running and whose payload is equal, byte
-- for byte. Each call looks at a bounded number of jobs and returns a cursor, none at the end. There is no
-- index: queues that are never searched pay nothing.
--
-- uses   keys set_members job_packing job_records scan_set

-- In the order in which jobs pass through them, so that a job that moves on between two steps is found.
local MATCHED_STATES = { 'blocked', 'scheduled', 'waiting', 'running' }

-- A record contains its payload, or false if the payload has a key of its own, so few records need to be
-- unpacked.
local function likely_matches(ids, data)
  local names, likely = {}, {}
  for i = 1, #ids do
    names[i] = job_prefix .. ids[i]
  end
  local part = #data > INLINE and cmsgpack.pack(false) or data
  local records = #ids > 0 and redis.call('MGET', unpack(names)) or {}
  for i = 1, #records do
    if records[i] and string.find(records[i], part, 1, true) then
      likely[#likely + 1] = ids[i]
    end
  end
  return likely
end

local function has_data(job, data)
  if job.data then
    return job.data == data
  end
  return redis.call('STRLEN', key('data', job.id)) == #data and payload(job) == data
end

local function add_matches(matches, state, found, data)
  local ids = {}
  for i = 1, #found, 2 do
    ids[#ids + 1] = state == 'waiting' and name_in(found[i]) or found[i]
  end
  ids = likely_matches(ids, data)
  read_jobs(ids)
  for _, id in ipairs(ids) do
    local job = read_job(id)
    if has_data(job, data) then
      matches[#matches + 1] = job
    end
  end
end

local function find_by_payload(queue, data, at_most, cursor)
  local matches, left = {}, at_most
  local first, after
  if cursor then
    first, after = cursor[1], { cursor[2], cursor[3] }
  end
  for at = first or 1, #MATCHED_STATES do
    local state = MATCHED_STATES[at]
    local found, more = scan_set(key(state, queue), left, after)
    add_matches(matches, state, found, data)
    if more then
      return matches, cmsgpack.pack({ at, more[1], more[2] })
    end
    left = left - #found / 2
    after = nil
  end
  return matches, ''
end
