-- throttle_delete: delete throttles; the jobs that name them are let through.
--
-- each   name
-- flags  allow-oom
-- uses   keys sorted_sets end_throttle write_back
-- reply  for each, 1 if it existed, else 0

local answers = {}
for name in each() do
  answers[#answers + 1] = redis.call('ZSCORE', THROTTLES, name) and 1 or 0
  zset_remove(AGENDA, 'throttle:' .. name)
  end_throttle(name)
end
return write_back(answers)
