-- scan_jobs: read the jobs of a sorted set of the shard by score, page by page, while jobs are added and
-- removed. A job that keeps its score is returned exactly once. The cursor is part of the reply to the
-- previous call. For the first page, the cursor may contain a start score. Jobs with a score above
-- `highest` are omitted.
--
-- args   role name highest:number at_most:int cursor:packed
-- flags  no-writes
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
return describe_jobs(ids, { after and cmsgpack.pack(after) or '' })
