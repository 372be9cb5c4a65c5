-- imported_ids: remember what an import has brought, by import id, for 30 days after its last item. An item
-- that was deleted meanwhile stays remembered, so nothing is imported twice.
--
-- uses   keys now batched_calls sorted_sets

local REMEMBERED_FOR = 30 * 86400000

local imported_now = {}

-- Return for each import id the id under which it was imported, or false.
local function imported_as(import, import_ids)
  return redis.call('HMGET', key('imported', import), unpack(import_ids))
end

local function note_imported(import_id, id)
  imported_now[#imported_now + 1] = import_id
  imported_now[#imported_now + 1] = id
end

local function write_imported(import)
  if #imported_now > 0 then
    call_in_batches('HSET', key('imported', import), imported_now)
    zset_add(AGENDA, 'imported:' .. import, now + REMEMBERED_FOR)
  end
end
