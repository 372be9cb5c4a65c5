-- cancel_matching: delete the pending and running jobs of a queue that have this payload, a bounded number
-- per call. The queue's listeners and the workers that run a deleted job are notified. The cursor is part
-- of the reply to the previous call, and is empty in the first call.
--
-- args   queue data at_most:int cursor:packed
-- flags  allow-oom
-- nonce  always
-- uses   defaults find_by_payload cancel_and_expire notices write_back
-- reply  {cursor of the next step or '', id, ...}

local matches, after = find_by_payload(queue, data, at_most, cursor)
local reply = { after }
for _, job in ipairs(matches) do
  reply[#reply + 1] = job.id
  cancel_job(job, 'matching')
end
if #matches > 0 then
  notify_queue(queue, #data > DEFAULT_EVENT_DATA and 'cancelled' or 'cancelled ' .. data)
end
return write_back(reply)
