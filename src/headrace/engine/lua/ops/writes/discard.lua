-- discard: what was staged shall not be published: a bundle, unless that was decided, and parcels that are
-- nobody's. A bundle is given up at the home of its write first, then on the other shards.
--
-- args   bundle home:flag
-- each   parcel
-- flags  allow-oom
-- uses   keys sorted_sets bundles
-- reply  1 when nothing of it is left, 0 if more is to be done, or why not
-- error  ALREADY_DECIDED

local state = redis.call('HGET', key('bundle', bundle), 'state')
if state == 'decided' or state == 'published' then
  return 'ALREADY_DECIDED'
end
for parcel in each() do
  if is_loose(parcel) then
    zset_remove(AGENDA, staged_entry(parcel))
    redis.call('UNLINK', key('staged', parcel))
  end
end
local done = true
if home or state then
  done = give_up(bundle, home)
end
flush_zsets()
return done and 1 or 0
