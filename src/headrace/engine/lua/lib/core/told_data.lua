-- told_data: a payload as an event tells it. One that is too large for the log is left out, with its size.
-- An event that is not always about a payload cannot tell an empty one from none: that is left out as well.
--
-- uses   settings

local function leave_out(data, more)
  more = more or {}
  more[#more + 1] = 'left_out'
  more[#more + 1] = #data
  return '', more
end

local function told_data(job, data, more)
  if #data > settings(job.queue).event_data then
    return leave_out(data, more)
  end
  return data, more
end

-- The same for new data, which there may be.
local function told_change(job, data, more)
  if data == '' then
    return leave_out(data, more)
  elseif data then
    return told_data(job, data, more)
  end
  return nil, more
end
