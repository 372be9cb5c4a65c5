-- scan_jobs: read the jobs of a sorted set of the shard by score, page by page, while they move: a job that
-- keeps its place is returned exactly once. The cursor is that of the previous page; at the first it may be
-- a start score. Jobs above the highest score are left out.
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
