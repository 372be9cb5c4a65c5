-- adopted: what an import has brought here, by the badge of each thing. It is
-- remembered for a time after the last of it, whatever becomes of it: so nothing comes twice.
--
-- uses   keys now chunks places

local REMEMBERED_FOR = 30 * 86400000

local adopted_now = {}

-- For each badge under which id it was brought, false if it was not.
local function adopted_as(import, badges)
  return redis.call('HMGET', key('adopted', import), unpack(badges))
end

local function note_adopted(badge, id)
  adopted_now[#adopted_now + 1] = badge
  adopted_now[#adopted_now + 1] = id
end

local function write_adopted(import)
  if #adopted_now > 0 then
    in_chunks('HSET', key('adopted', import), adopted_now)
    place(AGENDA, 'adopted:' .. import, now + REMEMBERED_FOR)
  end
end
