-- bundles: what was staged for one write belongs together from the moment it is prepared: on each shard
-- a record and its parcels, each a list of chunks of rows. The decision is made at the home of the
-- write, and there too a bundle is given up first, so that it cannot be both.
--
-- uses   keys now sorted_sets

local DAY = 86400000
local STAGED_FOR, DECIDED_WITHIN, RECORDS_FOR = DAY, DAY, 7 * DAY
-- How long whoever publishes may be silent before the agenda goes on in his place.
local TAKE_OVER_AFTER = 2000
local DROPPED_AT_MOST = 100

local function staged_entry(parcel)
  return 'staged:' .. parcel
end

-- Whether a parcel is nobody's yet, and so goes by itself.
local function is_loose(parcel)
  return redis.call('ZSCORE', AGENDA, staged_entry(parcel))
end

-- When the agenda sees to a bundle, if nobody has by then.
local function tend_at(bundle, at)
  zset_add(AGENDA, 'bundle:' .. bundle, at)
end

-- When clients see to it: they know of the other shards.
local function look_at(bundle, at)
  zset_add(BUNDLES, bundle, at)
end

local function is_in_hand(bundle)
  tend_at(bundle, now + TAKE_OVER_AFTER)
  look_at(bundle, now + TAKE_OVER_AFTER)
end

local function parcels_left(bundle)
  return redis.call('EXISTS', key('parcels', bundle)) == 1
end

-- The next chunk and its parcel, nil if there is none. It stays until its jobs are made.
local function next_chunk(bundle)
  local parcel = redis.call('ZRANGE', key('parcels', bundle), 0, 0)[1]
  return parcel and redis.call('LINDEX', key('staged', parcel), 0), parcel
end

local function drop_chunk(bundle, parcel)
  local where = key('staged', parcel)
  redis.call('LPOP', where)
  if redis.call('EXISTS', where) == 0 then
    redis.call('ZREM', key('parcels', bundle), parcel)
  end
end

-- Deletes some of what a bundle still has. True when nothing is left.
local function drop_parcels(bundle)
  local parcels = key('parcels', bundle)
  local dropped = redis.call('ZRANGE', parcels, 0, DROPPED_AT_MOST - 1)
  local names = {}
  for i, parcel in ipairs(dropped) do
    names[i] = key('staged', parcel)
  end
  if names[1] then
    redis.call('UNLINK', unpack(names))
    redis.call('ZREM', parcels, unpack(dropped))
  end
  return not parcels_left(bundle)
end

local function forget_bundle(bundle)
  redis.call('DEL', key('bundle', bundle))
  zset_remove(BUNDLES, bundle)
  zset_remove(AGENDA, 'bundle:' .. bundle)
end

-- From now on it cannot be decided. At home that is remembered, for a call that comes late.
local function give_up(bundle, is_home)
  redis.call('HSET', key('bundle', bundle), 'state', 'given_up')
  zset_remove(BUNDLES, bundle)
  local dropped = drop_parcels(bundle)
  if not dropped then
    tend_at(bundle, now)
  elseif is_home then
    tend_at(bundle, now + DAY)
  else
    forget_bundle(bundle)
  end
  return dropped
end
