-- begin_call: the variables of every call, and the functions that the composer uses in operations. The composer puts
-- this file before all other files.

local lib, shard, call_arguments, call_ticket, again, now, redis_call, use_state = {}

-- Each call runs this function before the body of its operation. The ticket of a first call is '0'. The ticket of a
-- repeated call is the largest number of milliseconds that may have passed since the first call, or the ticket in the
-- reply to an unfinished call. If the server remembers the answer of the call, the ticket is a nonce, which begins
-- with the letter n.
local function begin_call(keys, arguments)
  -- The server defines redis.call only while a function runs.
  call_arguments, call_ticket, redis_call = arguments, arguments[1], redis.call
  again = call_ticket ~= '0'
  if keys[1] ~= shard then
    shard = keys[1]
    lib.set_keys()
  end
end

-- Register an operation. If the library is loaded with FUNCTION LOAD, the operation becomes a function of the
-- server. If the library runs as a script, function_prefix is nil, and the operation is stored in a table.
local registered = {}

local function register(name, flags, callback)
  if function_prefix then
    redis.register_function({ function_name = function_prefix .. name, flags = flags, callback = callback })
  else
    registered[name] = callback
  end
end

-- Return whether the user may change jobs. A user who may only add or read jobs may not run DEL. Operations check
-- this permission before they write, because the writes before a refused command would remain.
local function may_change_jobs()
  return redis.acl_check_cmd('DEL', shard)
end

local function refused_user(operation)
  return redis.error_reply('NOPERM ' .. operation .. ' needs the permissions of a worker')
end

-- The functions below read arguments by their kind. For example, `cascade:flag` in the header of an operation
-- defines the variable `cascade` as flag(argument).
local function flag(argument)
  return argument == '1'
end

local function optional(argument)
  return string.sub(argument, 1, 1) == '=' and string.sub(argument, 2) or nil
end

local function packed(argument)
  return argument ~= '' and cmsgpack.unpack(argument) or nil
end

-- Headrace clients allow only shorter names. This limit protects the server from callers that do not use a
-- Headrace client, because each event contains names. An operation reads its names before it writes anything.
local NAME_AT_MOST = 65536

local function short_name(argument)
  if #argument > NAME_AT_MOST then
    error({ err = string.format('ERR a name has %d bytes; it may have at most %d', #argument, NAME_AT_MOST) })
  end
  return argument
end
