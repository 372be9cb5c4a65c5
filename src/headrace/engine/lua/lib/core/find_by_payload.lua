-- find_by_payload: find the pending and running jobs of a queue whose payload equals `data`, byte for byte.
-- Each call examines a bounded number of jobs and returns a cursor, which is empty after the last job.
-- Payloads are not indexed, so a queue that is never searched has no extra cost.
--
-- uses   keys set_members job_packing job_records scan_set

-- The search visits the states in the order in which jobs pass through these states. Therefore the search
-- also finds a job that changes its state between two calls.
local MATCHED_STATES = { 'blocked', 'scheduled', 'waiting', 'running' }

-- Return the ids of the jobs whose packed record contains the bytes of the payload. Only these few records
-- must be unpacked. If the payload is large, the record contains false instead, and the payload has a key
-- of its own.
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
  local ids = likely_matches(ids_in(found, state), data)
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
