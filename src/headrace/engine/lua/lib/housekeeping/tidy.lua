-- tidy: does what the agenda says is due, a few things in every call, so that limits hold without
-- a process of our own. True when nothing more is due. One turn a script is enough.
--
-- uses   keys now places
-- later  duties

local TIDY_AT_MOST = 16

local tidied = false

local function tidy(log_has_grown)
  if tidied then
    return true
  end
  tidied = true
  settle()
  if log_has_grown then
    duties('events:')
  end
  local due = redis.call('ZRANGE', AGENDA, '-inf', now, 'BYSCORE', 'LIMIT', 0, TIDY_AT_MOST)
  for _, entry in ipairs(due) do
    lift(AGENDA, entry)
    duties(entry)
  end
  return #due < TIDY_AT_MOST
end
