-- pending: count the unfinished members of each group, including failed members.
--
-- each   group
-- flags  no-writes
-- uses   keys
-- reply  for each, the number

local answers = {}
for group in each() do
  answers[#answers + 1] = redis.call('ZCARD', key('group', group))
end
return answers
