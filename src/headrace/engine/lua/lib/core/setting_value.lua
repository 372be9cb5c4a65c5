-- setting_value: return one setting of a queue: the queue's own value, else the value of the namespace,
-- else the default.

local function setting_value(own, shared, default)
  local value = own or shared
  if not value then
    return default
  elseif value == 'none' then
    return false
  end
  return tonumber(value) or value
end
