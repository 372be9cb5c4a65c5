-- endless_leases: leases without a deadline. In the sorted set of running jobs, the score of such a lease is
-- greater than every time. The score is derived from the secret of the pop, so that a repeated pop finds its
-- jobs by their score.

local ENDLESS = 2 ^ 52

local function endless_score(secret)
  return ENDLESS + struct.unpack('>I6', secret .. '\0\0\0\0\0\0')
end

-- Return the time when a lease with this score ends. Without a score, no lease ends.
local function end_of_lease(score)
  score = tonumber(score or math.huge)
  return score < ENDLESS and score or math.huge
end
