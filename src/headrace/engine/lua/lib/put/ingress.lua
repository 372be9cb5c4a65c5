-- ingress: turn elements of a queue's ingress list into jobs, in the order in which the elements were
-- pushed. The put time of a job is the time when its element is removed from the list.
--
-- uses   keys settings job_records create_job

local LONGEST_NAME = 250

-- The byte patterns of UTF-8 characters that are not ASCII.
local LETTERS = {
  '[\194-\223][\128-\191]',
  '\224[\160-\191][\128-\191]',
  '[\225-\236\238\239][\128-\191][\128-\191]',
  '\237[\128-\159][\128-\191]',
  '\240[\144-\191][\128-\191][\128-\191]',
  '[\241-\243][\128-\191][\128-\191][\128-\191]',
  '\244[\128-\143][\128-\191][\128-\191]',
}

-- Return whether bytes can be the id of a job according to the rules of the client: not empty, not too
-- long, no control characters, valid UTF-8.
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
local ingress_left, ingress_bytes = 256, 0

-- Clients may already have put jobs with ids of this form. Doubling the step skips these ids quickly.
local function new_ingress_id(begins)
  local id
  local step = 1
  repeat
    id = begins .. redis.call('HINCRBY', LOG, 'ingress', step)
    step = 2 * step
  until not read_job(id)
  return id
end

-- Return the id of a job that gets its id from its data. If a job of another queue already has this id,
-- the name of this queue is appended to the id, because both jobs must run.
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

local function take_ingress(queue)
  local where = key('ingress', queue)
  local shards, id_prefix = unpack(redis.call('HMGET', META, 'shards', 'ingress'))
  if not id_prefix or redis.call('TYPE', where).ok ~= 'list' then
    return true
  end
  local data_is_id = shards == '1' and settings(queue).ingress == 'id'
  while ingress_left > 0 do
    local pushed = redis.call('RPOP', where, PIECE) or {}
    ingress_left = ingress_left - #pushed
    for _, data in ipairs(pushed) do
      create_from_ingress(queue, data, id_prefix, data_is_id)
      ingress_bytes = ingress_bytes + #data
    end
    if #pushed < PIECE then
      return true
    elseif ingress_bytes > ENOUGH_BYTES then
      ingress_left = 0
    end
  end
  return false
end

-- Turn elements into jobs, a bounded number per call. Return true if the list is empty afterwards. A key
-- that is not a list stays unchanged.
local function drain_ingress(queue)
  return redis.call('EXISTS', key('ingress', queue)) == 0 or take_ingress(queue)
end
