-- pending: count the unfinished members of each group, including failed ones.
--
-- each   group
-- uses   keys
-- reply  for each, the number

local answers = {}
for group in each() do
  answers[#answers + 1] = redis.call('ZCARD', key('group', group))
end
return answers
