-- keys: how the keys of a shard are spelled, here and nowhere else. A name is always the whole
-- tail of its key, so no name can be mistaken for another key; docs/keys.md lists the roles.

local spelled = {}

local function key(role, name)
  local by_name = spelled[role]
  if not by_name then
    by_name = {}
    spelled[role] = by_name
  end
  local found = by_name[name]
  if not found then
    found = shard .. role .. ':' .. name
    by_name[name] = found
  end
  return found
end

local job_prefix = shard .. 'job:'
local AGENDA = shard .. 'agenda'
local CONFIG = shard .. 'config'
local EVENTS = shard .. 'events'
local FAILURE_TYPES = shard .. 'failure_types'
local LOG = shard .. 'log'
local META = shard .. 'meta'
local QUEUES = shard .. 'queues'
local SESSIONS = shard .. 'sessions'
