-- import_jobs: import jobs from another queue in the state that the jobs had in that queue: waiting,
-- scheduled, blocked, failed or complete. Imported jobs keep their times, attempts and history. An import
-- creates only one job for each import id, even if this job has been deleted since then. A job whose id already
-- exists is created under its spare id, a second id that the caller passes for this case. The events of imported
-- jobs have the current time, the reason `imported`, and no durations.
--
-- args   import_name
-- each   id spare import_id queue data about:packed result:optional
-- uses   job_records imported_ids write_back keys now settings create_job events ensure_queue
-- uses   unique_values books job_states completed_jobs failures notices links tags
-- reply  for each, 1 imported, 2 imported under its spare id, '=' and an id: imported before under that id,
--        or a refusal
-- error  JOB_EXISTS TOO_MANY

local IMPORTED = 'imported'

-- Keep the first entry and the newest entries of the history, as job_history does.
local function set_history(job, entries)
  local limit = settings(job.queue).history
  while #entries > limit do
    table.remove(entries, math.min(2, #entries))
  end
  job.history = #entries > 0 and entries or false
end

local states = {}

function states.waiting(job)
  enqueue(job, 0)
end

function states.scheduled(job, about)
  job.since = about.since
  enter_state(job, 'scheduled', about.since)
end

function states.blocked(job, about)
  if not block_job(job, about.depends_on, 0) then
    enqueue(job, 0)
  end
end

function states.failed(job, about)
  local kind, message, known_at, worker = unpack(about.failure)
  local at, short = known_at > 0 and known_at or now, short_message(message)
  emit('failed', job, nil, nil, nil, { 'failure', kind, 'message', short, 'reason', IMPORTED })
  store_error_text(job, message, nil, at)
  set_extra(job, 'failure', { kind, short, at, worker })
  job.since = at
  enter_state(job, 'failed', at)
  list_failure(job, 1)
  notify_finished(job.id)
end

function states.complete(job, about, result)
  emit('completed', job, nil, nil, nil, { 'reason', IMPORTED })
  job.since, job.ended, job.worker = about.since or now, about.ended or now, about.worker
  notify_finished(job.id)
  keep_completed(job, result)
end

local LIVE = { waiting = true, scheduled = true, blocked = true }

local function import_job(id, queue, data, about, result)
  local job = new_job(id, queue, settings(queue).retries)
  apply_options(job, about)
  set_data(job, data)
  set_extra(job, 'releases', about.releases)
  job.attempt = about.attempt
  job.put_at = about.put_at or now
  if about.remaining ~= nil then
    job.remaining = about.remaining
  end
  set_history(job, about.history)
  ensure_queue(queue)
  local more = { 'reason', IMPORTED }
  if about.state == 'scheduled' then
    more[3], more[4] = 'delay', math.max(1, about.since - now)
  end
  job.seq = emit_put(job, data, more)
  if about.tracked then
    redis.call('ZADD', TRACKED, now, id)
    set_extra(job, 'tracked', true)
  end
  if LIVE[about.state] then
    claim_unique_value(job)
  end
  book(queue, 'put', 1)
  states[about.state](job, about, result)
end

local ids, import_ids = {}, {}
for id, _, import_id in each() do
  ids[#ids + 1] = id
  import_ids[#import_ids + 1] = import_id
end
local before = imported_as(import_name, import_ids)
read_jobs(ids)
local answers, taken = {}, {}

-- Return the ids under which parents were imported. Parents that were not imported are omitted.
local function ids_here(parents)
  local found = {}
  for i, id in ipairs(imported_as(import_name, parents)) do
    found[#found + 1] = taken[parents[i]] or id or nil
  end
  return found
end

for id, spare, import_id, queue, data, about, result in each() do
  local at = #answers + 1
  local job, imported_id = loaded_jobs[id], before[at] or taken[import_id]
  local free = not job and id or not read_job(spare) and spare
  if imported_id then
    answers[at] = '=' .. imported_id
  elseif refused_tags(about.tags) then
    answers[at] = refused_tags(about.tags)
  elseif not free then
    answers[at] = 'JOB_EXISTS ' .. job.state
  else
    if about.parents then
      about.depends_on = ids_here(about.parents)
    end
    import_job(free, queue, data, about, result)
    note_imported(import_id, free)
    taken[import_id] = free
    answers[at] = job and 2 or 1
  end
end
write_imported(import_name)
return write_back(answers)
