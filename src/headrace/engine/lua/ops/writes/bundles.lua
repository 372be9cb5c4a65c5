-- bundles: what was prepared on this shard and should be over by now: nobody has seen to it for a while. One
-- whose record was lost is nothing that could be seen to.
--
-- args   count:int
-- uses   keys now
-- reply  for each its name and its write

local listed = {}
for _, bundle in ipairs(redis.call('ZRANGE', BUNDLES, '-inf', now, 'BYSCORE', 'LIMIT', 0, count)) do
  local write = redis.call('HGET', key('bundle', bundle), 'write')
  if write then
    listed[#listed + 1] = { bundle, write }
  end
end
return listed
