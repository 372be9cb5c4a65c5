-- run_due_schedules: create the jobs of the schedules of a queue that are due. True when none is left.
--
-- uses   keys now
-- later  run_schedules

local SCHEDULES_AT_MOST = 50

local function run_due_schedules(queue)
  local due = redis.call(
    'ZRANGE', key('schedules', queue), '-inf', now, 'BYSCORE', 'LIMIT', 0, SCHEDULES_AT_MOST
  )
  return #due == 0 or run_schedules(queue, due) and #due < SCHEDULES_AT_MOST
end
