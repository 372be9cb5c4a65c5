-- find_matching: find the pending and running jobs of a queue that have this payload, in bounded steps. The
-- cursor is that of the previous step, empty at the first.
--
-- args   queue data at_most:int cursor:packed
-- uses   find_by_payload
-- reply  {cursor of the next step or '', id, state, ...}

local matches, after = find_by_payload(queue, data, at_most, cursor)
local reply = { after }
for _, job in ipairs(matches) do
  reply[#reply + 1] = job.id
  reply[#reply + 1] = job.state
end
return reply
