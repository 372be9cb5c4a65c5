-- log: a worker adds a line to the log of a job; the newest lines are kept.
--
-- args   id token line keep:int
-- uses   keys now held
-- reply  1 or why not
-- error  NOT_FOUND LEASE_LOST

local job, refusal = held(id, token)
if not job then
  return refusal == 'DONE' and 'NOT_FOUND' or refusal
end
local entry = cmsgpack.pack({ now, line })
local where = key('log', id)
local newest = again and redis.call('LINDEX', where, -1)
if not (newest and cmsgpack.unpack(newest)[2] == line) then
  redis.call('RPUSH', where, entry)
  redis.call('LTRIM', where, -keep, -1)
end
return 1
