-- settings: what holds for a queue: its own settings, else the namespace's, else the defaults.
--
-- uses   keys defaults

local function overlay(target, stored)
  for i = 1, #stored, 2 do
    local value = stored[i + 1]
    if value == 'none' then
      target[stored[i]] = false
    else
      target[stored[i]] = tonumber(value) or value
    end
  end
  return target
end

local function config()
  return overlay(defaults(), redis.call('HGETALL', CONFIG))
end

local queue_settings = {}
local function settings(queue)
  local found = queue_settings[queue]
  if not found then
    found = overlay(config(), redis.call('HGETALL', key('settings', queue)))
    queue_settings[queue] = found
  end
  return found
end
