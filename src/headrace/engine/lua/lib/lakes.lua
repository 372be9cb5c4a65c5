-- lakes: how far each lake has come with the log of this shard. What is not yet in every lake is not
-- trimmed.
--
-- uses   keys log_ends

-- The id of the newest entry that all lakes have, nil if there is no lake.
local function kept_by_all()
  local lowest, lowest_number
  local marks = redis.call('HVALS', LAKES)
  for _, mark in ipairs(marks) do
    local _, event_number = entry_parts(mark)
    if not lowest or event_number < lowest_number then
      lowest, lowest_number = mark, event_number
    end
  end
  return lowest
end
