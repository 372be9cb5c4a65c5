-- keys: the names of the keys of a shard, spelled only here. A name is always the whole tail of its key, so
-- no name can be mistaken for another key. docs/reference/keys.md lists the roles.

local function key(role, name)
  return shard .. role .. ':' .. name
end

local function shard_number()
  return tonumber(string.match(shard, '(%d+)}:$'))
end

local job_prefix = shard .. 'job:'
local AGENDA = shard .. 'agenda'
local TRANSACTIONS = shard .. 'transactions'
local CONFIG = shard .. 'config'
local EVENTS = shard .. 'events'
local FAILURE_TYPES = shard .. 'failure_types'
local FEEDS = shard .. 'feeds'
local LAKES = shard .. 'lakes'
local LOG = shard .. 'log'
local META = shard .. 'meta'
local QUEUES = shard .. 'queues'
local SESSIONS = shard .. 'sessions'
local STREAMS = shard .. 'streams'
local TAGS = shard .. 'tags'
local TRACKED = shard .. 'tracked'
local THROTTLES = shard .. 'throttles'
local WRITES = shard .. 'writes'
