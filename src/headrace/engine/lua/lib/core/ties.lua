-- ties: whether a job is tied to more than its queue. What follows from that is for the general form
-- of an operation.

local function has_ties(extras)
  return extras.start_by or extras.key or extras.throttles or extras.unique or extras.awaited
    or extras.group or extras.tracked
end
