-- throttle_delete: delete throttles. Deleted throttles no longer hold back any jobs.
--
-- each   name
-- flags  allow-oom
-- nonce  always
-- uses   keys sorted_sets change_limits write_back
-- reply  for each throttle, 1 if it existed, else 0

local answers = {}
for name in each() do
  answers[#answers + 1] = redis.call('ZSCORE', THROTTLES, name) and 1 or 0
  zset_remove(AGENDA, 'throttle:' .. name)
  end_throttle(name)
end
return write_back(answers)
