-- short_path: share code between the short paths of put, pop and complete. A short path makes the same changes
-- as the general path, in straight-line code.
--
-- uses   keys now events endless_leases

-- Append the event of a put. A payload of more than `largest` bytes is left out.
local function add_put_event(queue, id, data, priority, largest, more)
  if #data > largest then
    append_event('put', id, queue, '0', '', priority, '', '', '', { 'left_out', #data, unpack(more or {}) })
  else
    append_event('put', id, queue, '0', '', priority, '', '', data, more)
  end
end

-- Write the number and the time of the newest event. Return nil if no work is left. Otherwise return the work
-- that the short path leaves to the general path: housekeeping, a lane that has changed, and completed jobs to
-- prune.
local function end_short_path(queue, changed_lane, is_crowded)
  if number > first_number then
    write_log_end()
  end
  local trim_due = log_needs_trim(first_number, number)
  if changed_lane or is_crowded or trim_due or redis.call('ZCOUNT', AGENDA, '-inf', now) > 0 then
    return { queue = queue, changed_lane = changed_lane, is_crowded = is_crowded, trim_due = trim_due }
  end
end

local function first_score(where)
  return end_of_lease(redis.call('ZRANGE', where, 0, 0, 'WITHSCORES')[2])
end

-- Return the time of the earliest work that a pop does before it hands out jobs: expired sessions and leases, due
-- jobs and schedules. If the ingress list has elements, this time is now.
local function first_due(queue)
  local due = math.min(first_score(SESSIONS), first_score(key('running', queue)))
  -- Most queues have none of these keys, so this one command saves the commands that read them.
  if redis.call('EXISTS', key('scheduled', queue), key('schedules', queue), key('ingress', queue)) > 0 then
    if redis.call('EXISTS', key('ingress', queue)) == 1 then
      return 0
    end
    due = math.min(due, first_score(key('scheduled', queue)), first_score(key('schedules', queue)))
  end
  return due
end

-- Return whether a job has extra fields that only the general path handles.
local function needs_general_path(extras)
  return extras.start_by or extras.key or extras.throttles or extras.unique or extras.awaited
    or extras.group or extras.tracked or extras.first
end
