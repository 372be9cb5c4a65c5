-- resume_pop: repeat a pop whose reply was lost. The repeated call returns the jobs that the first call handed
-- out and that the worker still holds, in the same order. All jobs of a pop have the same score among the
-- running jobs. Without a deadline, the secret determines this score. Otherwise the score is a deadline, so a
-- search finds the score among the leases that began or were renewed since the first call.
--
-- uses   keys job_records hand_out endless_leases scan_set set_members

local RESUME_PAGE, RESUME_AT_MOST = 500, 10000

-- Return those of the ids whose records contain the secret. Only these few records must be unpacked.
local function with_secret(ids)
  local names, found = {}, {}
  for i = 1, #ids do
    names[i] = job_prefix .. ids[i]
  end
  local records = #ids > 0 and redis.call('MGET', unpack(names)) or {}
  for i = 1, #records do
    if records[i] and string.find(records[i], pop_secret, 1, true) then
      found[#found + 1] = ids[i]
    end
  end
  return found
end

local function grant_again(score)
  local cursor = { score, '' }
  repeat
    local found, after = scan_set(key('running', pop_queue), RESUME_PAGE, cursor)
    for i = #found, 1, -2 do
      if found[i] ~= score then
        found[i], found[i - 1] = nil, nil
      end
    end
    local ids = with_secret(ids_in(found))
    read_jobs(ids)
    for _, id in ipairs(ids) do
      local job = read_job(id)
      if job.state == 'running' and job.token == job.attempt .. '.' .. pop_secret then
        granted[#granted + 1] = job
      end
    end
    cursor = after
  until not after or after[1] ~= score
end

-- Search the leases with deadlines up to that of this call for a lease that the lost call began, and return its
-- score. If the search is not finished, return nil and a cursor with which the next call continues.
local function search_score(cursor)
  for _ = 1, RESUME_AT_MOST / RESUME_PAGE do
    local found, after = scan_set(key('running', pop_queue), RESUME_PAGE, cursor)
    local id = with_secret(ids_in(found))[1]
    if id then
      return redis.call('ZSCORE', key('running', pop_queue), id)
    elseif not after or tonumber(after[1]) > pop_deadline then
      return nil
    end
    cursor = after
  end
  return nil, cursor
end

-- Grant the jobs of the first call again. Return a ticket if the caller must repeat the call with this ticket.
local function resume_pop()
  grant_again(string.format('%d', endless_score(pop_secret)))
  local score, cursor
  if #granted == 0 and pop_deadline < ENDLESS then
    local since, packed = string.match(call_ticket, '^(%d+):?(.*)$')
    score, cursor = search_score(packed ~= '' and cmsgpack.unpack(packed) or { pop_deadline - since, '' })
  end
  if score then
    grant_again(score)
  end
  table.sort(granted, function(one_job, other_job)
    return one_job.priority < other_job.priority
      or one_job.priority == other_job.priority and one_job.seq < other_job.seq
  end)
  return cursor and '0:' .. cmsgpack.pack(cursor)
end
