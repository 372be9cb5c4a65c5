-- complete: complete jobs. A worker passes the token of its lease, and an operator passes an empty token.
-- With a next queue, the jobs move to that queue in the same script. With `parents`, the moved jobs are
-- blocked until these parents have finished. `given` is empty, or a packed pair of a result and new data.
-- An absent value of the pair is packed as false.
--
-- args   next_queue:optional delay:int parents:packed
-- each   id token given
-- flags  allow-oom
-- nonce  sometimes
-- uses   short_path_enabled now events plain_complete complete_general write_back
-- reply  the number of jobs if all are complete, else for each job its new state or a refusal
-- error  NOT_FOUND LEASE_LOST WRONG_STATE DEPENDENCY_REFUSED

open_log()
local made, left
if SHORT_PATH and not again and not next_queue and stamp == now then
  made, left = plain_complete(each)
end
if made and not left then
  return made
end

local number_before, stamp_before = first_number, stamp
use_state()
if made then
  finish_short_path(left)
  return made
end
open_log(number_before, stamp_before)
return complete_general(next_queue, delay, parents, each)
