-- lakes: how far each lake has come with the log of this shard. What is not yet in every lake is not
-- trimmed.
--
-- uses   keys log_ends

-- The id of the newest entry that all lakes have, nil if there is no lake.
local function kept_by_all()
  local lowest, lowest_number
  local marks = redis.call('HGETALL', LAKES)
  for i = 2, #marks, 2 do
    local _, event_number = entry_parts(marks[i])
    if not lowest or event_number < lowest_number then
      lowest, lowest_number = marks[i], event_number
    end
  end
  return lowest
end
