-- adopt_job: a job comes into being in the state it had elsewhere, with the times, attempts and history it
-- had there. The log tells of it as of now, and that it was imported: no span is counted today.
--
-- uses   keys now settings jobs make emit open_queue claims books move line_up keep_complete failure_list
-- uses   error_text notices
-- later  hold_back

local IMPORTED = 'imported'

-- The first entry and the newest ones, as history keeps them.
local function past_of(job, entries)
  local limit = settings(job.queue).history
  while #entries > limit do
    table.remove(entries, math.min(2, #entries))
  end
  job.history = #entries > 0 and entries or false
end

local states = {}

function states.waiting(job)
  line_up(job, 0)
end

function states.scheduled(job, about)
  job.since = about.since
  enter(job, 'scheduled', about.since)
end

function states.blocked(job, about)
  if not hold_back(job, about.depends_on, 0) then
    line_up(job, 0)
  end
end

function states.failed(job, about)
  local kind, message, known_at, worker = unpack(about.failure)
  local at, short = known_at > 0 and known_at or now, shortened(message)
  emit('failed', job, nil, nil, nil, { 'failure', kind, 'message', short, 'reason', IMPORTED })
  keep_error(job, message, nil, at)
  set_extra(job, 'failure', { kind, short, at, worker })
  job.since = at
  enter(job, 'failed', at)
  list_failure(job, 1)
  tell_ended(job.id)
end

function states.complete(job, about, result)
  emit('completed', job, nil, nil, nil, { 'reason', IMPORTED })
  job.since, job.ended, job.worker = about.since or now, about.ended or now, about.worker
  tell_ended(job.id)
  keep_complete(job, result)
end

local LIVE = { waiting = true, scheduled = true, blocked = true }

local function adopt_job(id, queue, data, about, result)
  local job = new_job(id, queue, settings(queue).retries)
  apply_options(job, about)
  set_data(job, data)
  set_extra(job, 'releases', about.releases)
  job.attempt = about.attempt
  job.put_at = about.put_at or now
  if about.remaining ~= nil then
    job.remaining = about.remaining
  end
  past_of(job, about.history)
  open_queue(queue)
  local more = { 'reason', IMPORTED }
  if about.state == 'scheduled' then
    more[3], more[4] = 'delay', math.max(1, about.since - now)
  end
  job.seq = put_event(job, data, more)
  if about.tracked then
    redis.call('ZADD', TRACKED, now, id)
    set_extra(job, 'tracked', true)
  end
  if LIVE[about.state] then
    take_claim(job)
  end
  book(queue, 'put', 1)
  states[about.state](job, about, result)
end
