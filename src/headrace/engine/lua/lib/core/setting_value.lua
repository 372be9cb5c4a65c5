-- setting_value: return one setting of a queue. The queue's own value takes precedence over the value of the
-- namespace, and the value of the namespace takes precedence over the default.

local function setting_value(own, shared, default)
  local value = own or shared
  if not value then
    return default
  elseif value == 'none' then
    return false
  end
  return tonumber(value) or value
end
