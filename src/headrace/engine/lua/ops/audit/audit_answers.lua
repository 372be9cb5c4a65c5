-- audit_answers: check that remembered answers are counted, and that the agenda deletes them.
--
-- flags  no-writes
-- uses   keys remembered_answers
-- reply  the number of remembered answers, problem, ...

local reply = { 0 }
for _, where in ipairs({ ANSWERS, OLDER_ANSWERS }) do
  local count = redis.call('HLEN', where) - 1
  if count >= 0 then
    reply[1] = reply[1] + count
    if tonumber(redis.call('HGET', where, '') or 0) < SMALL * count then
      reply[#reply + 1] = 'are counted as too few'
    end
    if not redis.call('ZSCORE', AGENDA, 'answers:') then
      reply[#reply + 1] = 'are never deleted'
    end
  end
end
return reply
