-- lane_key: where the jobs of a lane stand.
--
-- uses   keys

local function lane_key(queue, lane)
  return key('lane', queue .. '\0' .. lane)
end
