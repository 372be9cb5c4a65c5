-- unschedule: end schedules; the jobs that they created stay. If a repeated call finds no schedule, the
-- schedule counts as ended by it.
--
-- each   id
-- flags  allow-oom
-- uses   keys schedule_index sorted_sets
-- reply  for each, 1 if it was ended, 0 if there was none

local answers = {}
for id in each() do
  local queue = redis.call('HGET', key('schedule', id), 'queue')
  if queue then
    unlist_schedule(id, queue)
    redis.call('DEL', key('schedule', id))
  end
  answers[#answers + 1] = (queue or again) and 1 or 0
end
flush_zsets()
return answers
