-- cancel_matching: delete the pending and running jobs of a queue that have this payload, in bounded steps.
-- The workers that run one and the queue's listeners are notified. The cursor is that of the previous step,
-- empty at the first.
--
-- args   queue data at_most:int cursor:packed
-- flags  allow-oom
-- uses   defaults find_by_payload cancel_job notices write_back
-- reply  {cursor of the next step or '', id, ...}

local matches, after = find_by_payload(queue, data, at_most, cursor)
local reply = { after }
for _, job in ipairs(matches) do
  reply[#reply + 1] = job.id
  cancel_job(job, 'matching')
end
if #matches > 0 then
  notify_queue(queue, #data > default_event_data and 'cancelled' or 'cancelled ' .. data)
end
return write_back(reply)
