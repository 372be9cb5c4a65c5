-- tidy: does what the agenda says is due, a few things in every call, so that limits hold without
-- a process of our own. True when nothing more is due. One turn a script is enough.
--
-- uses   keys now places emit
-- later  duties

local TIDY_AT_MOST = 16
local TRIM_EVERY = 256

local tidied = false

local function tidy()
  if tidied then
    return true
  end
  tidied = true
  settle()
  if number and math.floor(number / TRIM_EVERY) ~= math.floor(first_number / TRIM_EVERY) then
    duties('events:')
  end
  local due = redis.call('ZRANGE', AGENDA, '-inf', now, 'BYSCORE', 'LIMIT', 0, TIDY_AT_MOST)
  for _, entry in ipairs(due) do
    lift(AGENDA, entry)
    duties(entry)
  end
  return #due < TIDY_AT_MOST
end
