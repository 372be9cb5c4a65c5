-- create_job: create a job and apply its options.
--
-- uses   keys now settings job_records events change_queue sorted_sets job_finished unique_values tags

local COPIED_OPTIONS = { 'key', 'if_fails', 'origin', 'result_ttl' }

local function apply_options(job, given)
  job.priority = given.priority or job.priority
  if given.tags then
    set_tags(job, given.tags)
  end
  if given.retries ~= nil then
    job.retries = given.retries
    job.remaining = given.retries
  end
  for _, name in ipairs(COPIED_OPTIONS) do
    if given[name] then
      set_extra(job, name, given[name])
    end
  end
  if given.throttles then
    set_extra(job, 'throttles', #given.throttles > 0 and given.throttles or nil)
  end
  if given.group then
    leave_group(job, 'completed')
    set_extra(job, 'group', given.group)
  end
  if given.unique then
    release_unique_value(job)
    set_extra(job, 'unique', given.unique)
  end
  if given.first then
    set_extra(job, 'first', number_of_call())
  end
  if given.start_within then
    set_extra(job, 'start_by', now + given.start_within)
    zset_add(AGENDA, 'start:' .. job.id, now + given.start_within)
  end
end

local function apply_put(job, data, given)
  if extra(job, 'start_by') then
    zset_remove(AGENDA, 'start:' .. job.id)
    set_extra(job, 'start_by', nil)
  end
  if given then
    apply_options(job, given)
  end
  set_data(job, data)
end

local function emit_put(job, data, more)
  data, more = event_payload(job, data, more)
  local tags = extra(job, 'tags')
  if tags then
    more = with_field(more, 'tags', cjson.encode(tags))
  end
  local origin = extra(job, 'origin')
  if origin then
    more = with_field(more, 'origin', origin)
  end
  return emit('put', job, nil, nil, data, more)
end

local function create_job(queue, id, data, given, more)
  local job = new_job(id, queue, settings(queue).retries)
  local delay = given and given.delay or 0
  if delay > 0 then
    more = with_field(more, 'delay', delay)
  end
  apply_put(job, data, given)
  join_queue(job, queue, emit_put(job, data, more), delay, given and given.depends_on)
  return job
end
