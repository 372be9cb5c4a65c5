-- pending: how many members of each group are not over, the failed ones among them.
--
-- each   group
-- uses   keys
-- reply  for each, how many

local answers = {}
for group in each() do
  answers[#answers + 1] = redis.call('ZCARD', key('group', group))
end
return answers
