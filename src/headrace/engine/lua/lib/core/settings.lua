-- settings: the settings in force for a queue: its own, else the namespace's, else the defaults. The queue
-- '' has no settings of its own.
--
-- uses   keys defaults

local queue_settings = {}

local function settings(queue)
  local found = queue_settings[queue]
  if found then
    return found
  end
  found = defaults()
  queue_settings[queue] = found
  for _, where in ipairs({ CONFIG, key('settings', queue) }) do
    local stored = redis.call('HGETALL', where)
    for i = 1, #stored, 2 do
      local value = stored[i + 1]
      if value == 'none' then
        value = false
      end
      found[stored[i]] = tonumber(value) or value
    end
  end
  return found
end

local function forget_settings(queue)
  queue_settings[queue] = nil
end
