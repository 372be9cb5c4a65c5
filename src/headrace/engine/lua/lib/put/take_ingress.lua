-- take_ingress: turn elements of a queue's ingress list into jobs, first pushed first, a bounded number in
-- a call. True when the list is empty. A key that is not a list is left alone.
--
-- uses   keys settings job_records create_job

local LONGEST_NAME = 250

-- The byte patterns of UTF-8 characters beyond ASCII.
local LETTERS = {
  '[\194-\223][\128-\191]',
  '\224[\160-\191][\128-\191]',
  '[\225-\236\238\239][\128-\191][\128-\191]',
  '\237[\128-\159][\128-\191]',
  '\240[\144-\191][\128-\191][\128-\191]',
  '[\241-\243][\128-\191][\128-\191][\128-\191]',
  '\244[\128-\143][\128-\191][\128-\191]',
}

-- Whether bytes can be the id of a job, by the client's rules: not empty, not too long, no control
-- characters, valid UTF-8.
local function is_valid_id(bytes)
  if bytes == '' or #bytes > LONGEST_NAME or string.find(bytes, '%c') then
    return false
  end
  for _, letter in ipairs(LETTERS) do
    bytes = string.gsub(bytes, letter, ' ')
  end
  return not string.find(bytes, '[\128-\255]')
end

local PIECE, ENOUGH_BYTES = 32, 4194304
local left, bytes = 256, 0

-- Jobs of clients may have such ids. Doubling the step skips them quickly.
local function new_ingress_id(begins)
  local id
  local step = 1
  repeat
    id = begins .. redis.call('HINCRBY', LOG, 'ingress', step)
    step = 2 * step
  until not read_job(id)
  return id
end

-- If another queue has the id, the name of this queue is appended: both jobs must run.
local function id_from_data(queue, data)
  local job = is_valid_id(data) and read_job(data)
  if job and job.queue ~= queue then
    data = data .. '@' .. queue
  end
  return is_valid_id(data) and data
end

local function create_from_ingress(queue, data, begins, data_is_id)
  local id = data_is_id and id_from_data(queue, data) or new_ingress_id(begins)
  if not read_job(id) then
    create_job(queue, id, data, nil, '', { 'reason', 'ingress' })
  end
end

return function(queue)
  local where = key('ingress', queue)
  local shards, id_prefix = unpack(redis.call('HMGET', META, 'shards', 'ingress'))
  if not id_prefix or redis.call('TYPE', where).ok ~= 'list' then
    return true
  end
  local data_is_id = shards == '1' and settings(queue).ingress == 'id'
  while left > 0 do
    local pushed = redis.call('RPOP', where, PIECE) or {}
    left = left - #pushed
    for _, data in ipairs(pushed) do
      create_from_ingress(queue, data, id_prefix, data_is_id)
      bytes = bytes + #data
    end
    if #pushed < PIECE then
      return true
    elseif bytes > ENOUGH_BYTES then
      left = 0
    end
  end
  return false
end
