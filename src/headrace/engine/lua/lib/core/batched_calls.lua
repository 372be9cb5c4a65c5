-- batched_calls: send a command with many arguments in pieces, because unpack has a limit.

local ARGUMENTS_AT_MOST = 4000

local function call_in_batches(command, where, arguments)
  for first = 1, arguments and #arguments or 0, ARGUMENTS_AT_MOST do
    local last = math.min(first + ARGUMENTS_AT_MOST - 1, #arguments)
    if where then
      redis.call(command, where, unpack(arguments, first, last))
    else
      redis.call(command, unpack(arguments, first, last))
    end
  end
end
