-- walk_jobs: the jobs of one of the sorted sets of a shard in the order of their scores, page by page,
-- although they move between the pages: one that stays where it is is met once. The cursor is that of
-- the page before; at the first it may be a score to begin with. Nothing above a score is told.
--
-- args   role name highest:number at_most:int cursor:packed
-- uses   keys set_members describe_jobs scan_set
-- reply  {cursor of the next page or '', described job, ...}

local found, after = scan_set(key(role, name), at_most, cursor)
local ids = {}
for i = 1, #found, 2 do
  if tonumber(found[i + 1]) > highest then
    after = nil
    break
  end
  ids[#ids + 1] = role == 'waiting' and name_in(found[i]) or found[i]
end
local reply = describe_jobs(ids)
table.insert(reply, 1, after and cmsgpack.pack(after) or '')
return reply
