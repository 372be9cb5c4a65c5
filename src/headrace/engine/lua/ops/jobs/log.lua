-- log: add a line to the log of a job. Only the newest lines are kept. The nonce distinguishes a repeated
-- call from a new call.
--
-- args   id token line keep:int nonce
-- flags  allow-oom
-- uses   keys now check_lease
-- reply  1 or a refusal
-- error  NOT_FOUND LEASE_LOST

local job, refusal = check_lease(id, token)
if not job then
  return refusal
end
local where = key('log', id)
local newest = again and redis.call('LINDEX', where, -1)
if not (newest and cmsgpack.unpack(newest)[3] == nonce) then
  redis.call('RPUSH', where, cmsgpack.pack({ now, line, nonce }))
  redis.call('LTRIM', where, -keep, -1)
end
return 1
