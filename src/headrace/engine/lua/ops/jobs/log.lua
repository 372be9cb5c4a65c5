-- log: add a line to the log of a job. Only the newest lines are kept.
--
-- args   id token line keep:int
-- flags  allow-oom
-- nonce  always
-- uses   keys now check_lease
-- reply  1 or a refusal
-- error  NOT_FOUND LEASE_LOST

local job, refusal = check_lease(id, token)
if not job then
  return refusal
end
local where = key('log', id)
redis.call('RPUSH', where, cmsgpack.pack({ now, line }))
redis.call('LTRIM', where, -keep, -1)
return 1
