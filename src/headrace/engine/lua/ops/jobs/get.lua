-- get: return the present state of jobs; unknown ids are left out.
--
-- each   id
-- uses   describe_jobs
-- reply  described job, ...

local ids = {}
for id in each() do
  ids[#ids + 1] = id
end
return describe_jobs(ids)
