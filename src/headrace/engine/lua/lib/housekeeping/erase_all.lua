-- erase_all: jobs go that nobody has read. Only if there are tags at all they are read, for theirs.
--
-- uses   jobs tags

local function erase_all(ids)
  if #ids > 0 and there_are_tags() then
    read_jobs(ids)
    for _, id in ipairs(ids) do
      local job = read_job(id)
      if job then
        set_tags(job, {})
      end
    end
  end
  for _, id in ipairs(ids) do
    erase(id)
  end
end
