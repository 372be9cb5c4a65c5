-- settings: return all settings of a queue. For each setting, the queue's own value takes precedence over the
-- value of the namespace, and the value of the namespace takes precedence over the default. The queue '' has no
-- values of its own, so it has the settings of the namespace.
--
-- uses   keys defaults

local WITH_DEFAULTS = { __index = DEFAULTS }

local function add_settings(found, stored)
  for i = 1, #stored, 2 do
    local value = stored[i + 1]
    if value == 'none' then
      found[stored[i]] = false
    else
      found[stored[i]] = tonumber(value) or value
    end
  end
end

local function read_settings(queue)
  local found = setmetatable({}, WITH_DEFAULTS)
  add_settings(found, redis.call('HGETALL', CONFIG))
  add_settings(found, redis.call('HGETALL', key('settings', queue)))
  return found
end

-- The settings that this call has read. A short path keeps no state, so it reads only single settings.
local queue_settings = {}

local function settings(queue)
  local found = queue_settings[queue]
  if not found then
    found = read_settings(queue)
    queue_settings[queue] = found
  end
  return found
end

local function forget_settings(queue)
  queue_settings[queue] = nil
end
