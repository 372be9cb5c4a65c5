-- run_agenda: do what is due on the agenda, a few entries in every call, so that limits and retention hold
-- without a process of their own. True when nothing more is due. Runs once per script.
--
-- uses   keys now sorted_sets
-- later  agenda_tasks

local AGENDA_AT_MOST = 16

local agenda_ran = false

local function run_agenda(trim_due)
  if agenda_ran then
    return true
  end
  agenda_ran = true
  flush_zsets()
  if trim_due then
    agenda_tasks('events:')
  end
  local due = redis.call('ZRANGE', AGENDA, '-inf', now, 'BYSCORE', 'LIMIT', 0, AGENDA_AT_MOST)
  for _, entry in ipairs(due) do
    zset_remove(AGENDA, entry)
    agenda_tasks(entry)
  end
  return #due < AGENDA_AT_MOST
end
