-- imported_ids: store which items an import has created, by import id, until 30 days after the last item
-- was created. The entry of a deleted item is kept, so that no item is imported twice.
--
-- uses   keys now batched_calls sorted_sets

local REMEMBERED_FOR = 30 * 86400000

local imported_now = {}

-- For each import id, return the id of the item that the import created, or false.
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
