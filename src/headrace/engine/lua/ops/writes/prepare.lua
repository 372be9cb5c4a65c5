-- prepare: parcels become part of a bundle, all of them or none. From now on they go only when it has
-- been decided at the home of the write that they shall not be published.
--
-- args   bundle write queue on_exists home:flag
-- each   parcel order:int chunks:int
-- uses   keys now sorted_sets bundles
-- reply  1, or why not
-- error  STAGED_LOST GIVEN_UP

local record, parcels = key('bundle', bundle), key('parcels', bundle)
local state = redis.call('HGET', record, 'state')
if state == 'given_up' then
  return 'GIVEN_UP'
elseif state and state ~= 'prepared' then
  return 1
end
for parcel, _, chunks in each() do
  if not redis.call('ZSCORE', parcels, parcel)
    and not (is_loose(parcel) and redis.call('LLEN', key('staged', parcel)) == chunks) then
    return 'STAGED_LOST'
  end
end
for parcel, order in each() do
  redis.call('ZADD', parcels, order, parcel)
  zset_remove(AGENDA, staged_entry(parcel))
end
redis.call('HSET', record, 'state', 'prepared', 'write', write, 'queue', queue, 'on_exists', on_exists,
  'home', home and 1 or 0, 'made', 0, 'moved', 0, 'replaced', 0, 'skipped', 0)
look_at(bundle, now + DECIDED_WITHIN)
if home then
  tend_at(bundle, now + DECIDED_WITHIN)
end
flush_zsets()
return 1
