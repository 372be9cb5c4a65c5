-- find_matching: find the pending and running jobs of a queue that have this payload, a bounded number per
-- call. The cursor is part of the reply to the previous call, and is empty in the first call.
--
-- args   queue data at_most:int cursor:packed
-- flags  no-writes
-- uses   find_by_payload
-- reply  {cursor of the next step or '', id, state, ...}

local matches, after = find_by_payload(queue, data, at_most, cursor)
local reply = { after }
for _, job in ipairs(matches) do
  reply[#reply + 1] = job.id
  reply[#reply + 1] = job.state
end
return reply
