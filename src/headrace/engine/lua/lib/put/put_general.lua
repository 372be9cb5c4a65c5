-- put_general: put jobs through the general path. This path handles options, ids that the caller chose, new
-- queues and repeated calls.
--
-- uses   now job_records remembered_answers create_job unique_values write_back put_rules put_conflicts tags

-- Return the options of a job. The job's own options override the options of the call.
local function given_to(own, options)
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

local function put_new(into, id, data, given)
  local other_job = given and unique_holder(into, given.unique, id)
  if other_job then
    return put_taken_unique_value(other_job, into, id, data, given)
  end
  return refused_links(nil, id, given, given and given.depends_on)
    or create_job(into, id, data, given) and 1
end

local function put_general(queue, options, each)
  local has_new_ids = not options.on_exists
  put_policy, put_checks_cycles = options.on_exists or '', true
  local others = options.others
  -- These are options of the call, not of the jobs.
  options.on_exists, options.others = nil, nil
  local shared = next(options) and options or nil
  read_jobs(ids_of(each))
  local answers = {}
  for id, data in each() do
    local at = #answers + 1
    local job = loaded_jobs[id]
    local spare, own = unpack(others and others[at] or {})
    local given = given_to(own, shared)
    if given and given.at then
      given.delay = math.max(0, given.at - now)
    end
    local into = given and given.queue or queue
    local refusal = given and refused_tags(given.tags)
    if refusal then
      answers[at] = refusal
    elseif has_new_ids and (job or was_created(id)) then
      answers[at] = 0
    elseif job then
      answers[at] = put_existing_id(job, into, spare, data, given)
    else
      answers[at] = put_new(into, id, data, given)
      note_creation(id, loaded_jobs[id])
    end
  end
  return write_back(answers)
end
