-- unschedule: end schedules. Jobs that the schedules have created are kept.
--
-- each   id
-- flags  allow-oom
-- nonce  always
-- uses   keys schedule_index sorted_sets
-- reply  for each schedule, 1 if it was ended, 0 if it did not exist

local answers = {}
for id in each() do
  local queue = redis.call('HGET', key('schedule', id), 'queue')
  if queue then
    unlist_schedule(id, queue)
    redis.call('DEL', key('schedule', id))
  end
  answers[#answers + 1] = queue and 1 or 0
end
flush_zsets()
return answers
