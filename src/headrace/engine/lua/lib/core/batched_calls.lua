-- batched_calls: send a command with many arguments in several calls, because Lua's unpack can return only
-- a limited number of values.

local ARGUMENTS_AT_MOST = 4000

local function call_in_batches(command, where, arguments)
  local size = #arguments
  if size > ARGUMENTS_AT_MOST then
    for first = 1, size, ARGUMENTS_AT_MOST do
      call_in_batches(command, where, { unpack(arguments, first, math.min(first + ARGUMENTS_AT_MOST - 1, size)) })
    end
  elseif size > 0 and where then
    redis.call(command, where, unpack(arguments))
  elseif size > 0 then
    redis.call(command, unpack(arguments))
  end
end
