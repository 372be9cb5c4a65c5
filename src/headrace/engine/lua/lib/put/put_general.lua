-- put_general: the general path of put: options, given ids, new queues, repeated calls.
--
-- uses   now job_records create_job unique_values write_back
-- needs  queue nonce on_exists options others each
-- later  find_cycle

-- Return the options of a job: its own, then those of the call.
local function given_to(own)
  if not own or not options then
    return own or options
  end
  local given = {}
  for name, value in pairs(options) do
    given[name] = value
  end
  for name, value in pairs(own) do
    given[name] = value
  end
  if own.delay then
    given.at = nil
  end
  return given
end

-- Ids that this call should have created and did not: jobs that depend on them are not created either.
local unmade = {}

-- Return why a job may not have these dependencies, nil if it may.
local function refused_links(job, id, given, parents)
  for _, parent in ipairs(next(unmade) and parents or {}) do
    if unmade[parent] then
      return 'DEPENDENCY_REFUSED unmade'
    end
  end
  return parents and find_cycle(id, given and given.group or job and extra(job, 'group'), parents)
end

-- later  put_existing_id put_taken_unique_value

local function put_new(into, id, data, given)
  local other_job = given and unique_holder(into, given.unique, id)
  if other_job then
    return put_taken_unique_value(other_job, into, id, data, given)
  end
  return refused_links(nil, id, given, given and given.depends_on)
    or create_job(into, id, data, given, nonce) and 1
end

return function(housekeeping_due, trim_due)
  if housekeeping_due then
    return run_housekeeping(trim_due)
  end
  local ids = {}
  for id in each() do
    ids[#ids + 1] = id
  end
  read_jobs(ids)
  local answers = {}
  for id, data in each() do
    local at = #answers + 1
    local job = loaded_jobs[id]
    local spare, own
    if others then
      spare, own = others[at][1], others[at][2]
    end
    local given = given_to(own)
    if given and given.at then
      given.delay = math.max(0, given.at - now)
    end
    local into = given and given.queue or queue
    if again and spare and read_job(spare) then
      answers[at] = 2
    elseif job then
      answers[at] = put_existing_id(job, into, spare, data, given)
    else
      answers[at] = put_new(into, id, data, given)
      unmade[id] = not loaded_jobs[id] or nil
    end
  end
  return write_back(answers)
end
