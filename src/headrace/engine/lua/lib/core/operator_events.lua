-- operator_events: append the events of tracking and of changed settings. Each of these events names the actor,
-- the client that made the change.
--
-- uses   events

-- Append the event of a job that an operator tracks or no longer tracks. The job may be deleted.
local function emit_tracking(kind, id, job, actor)
  local queue, attempt, worker, priority = '', 0, '', 0
  if job then
    queue, attempt, worker, priority = job.queue, job.attempt, job.worker, job.priority
  end
  append_event(kind, id, queue, attempt, worker, priority, '', '', '', next_event({ 'actor', actor }))
end

-- Change the settings in a hash. The event contains the settings whose values have changed, so a call that
-- changes nothing appends no event.
local function change_settings(where, queue, rows, actor)
  local changes = {}
  for name, value in rows() do
    if (value or false) ~= redis.call('HGET', where, name) then
      changes[name] = value or cjson.null
      if value then
        redis.call('HSET', where, name, value)
      else
        redis.call('HDEL', where, name)
      end
    end
  end
  if next(changes) then
    append_event('configured', '', queue, 0, '', 0, '', '', '',
      next_event({ 'settings', cjson.encode(changes), 'actor', actor }))
  end
end
