-- bundles: what was prepared on this shard and should be over by now: nobody has seen to it for a while.
--
-- args   count:int
-- uses   keys now
-- reply  for each its name and its write

local listed = {}
for i, bundle in ipairs(redis.call('ZRANGE', BUNDLES, '-inf', now, 'BYSCORE', 'LIMIT', 0, count)) do
  listed[i] = { bundle, redis.call('HGET', key('bundle', bundle), 'write') }
end
return listed
