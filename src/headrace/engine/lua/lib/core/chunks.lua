-- chunks: runs a command with many arguments in pieces, because unpack has a limit.

local CHUNK = 4000

local function in_chunks(command, where, arguments)
  for first = 1, arguments and #arguments or 0, CHUNK do
    local last = math.min(first + CHUNK - 1, #arguments)
    if where then
      redis.call(command, where, unpack(arguments, first, last))
    else
      redis.call(command, unpack(arguments, first, last))
    end
  end
end
