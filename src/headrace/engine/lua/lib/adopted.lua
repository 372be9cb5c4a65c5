-- adopted: what an import has brought here, by the mark that each thing has where it came from. It is
-- remembered for a time after the last of it, whatever becomes of it here: so nothing comes twice.
--
-- uses   keys now chunks places

local REMEMBERED_FOR = 30 * 86400000

local marked = {}

-- For each mark under which id it was brought, false if it was not.
local function adopted_as(import, marks)
  return redis.call('HMGET', key('adopted', import), unpack(marks))
end

local function mark_adopted(mark, id)
  marked[#marked + 1] = mark
  marked[#marked + 1] = id
end

local function write_marks(import)
  if #marked > 0 then
    in_chunks('HSET', key('adopted', import), marked)
    place(AGENDA, 'adopted:' .. import, now + REMEMBERED_FOR)
  end
end
