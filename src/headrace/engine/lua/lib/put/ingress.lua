-- ingress: turn elements of a queue's ingress list into jobs, in the order in which the elements were
-- pushed. The put time of a job is the time when its element is removed from the list.
--
-- uses   keys settings job_records create_job failures work_budget

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

-- A call stops after this many elements, or when the elements have this many bytes together. An element with more
-- than LONGEST_ELEMENT bytes becomes a failed job without data, because the server cannot handle it quickly.
local INGRESS_AT_MOST, ENOUGH_BYTES, LONGEST_ELEMENT = 256, 1048576, 16777216
local ingress_bytes = 0

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
-- the name of this queue is appended to the id, because both jobs must run. While the job with the longer id
-- exists, another element with the same data stands for that job, even after the job of the other queue has
-- finished.
local function id_from_data(queue, data)
  local longer = data .. '@' .. queue
  local job = is_valid_id(data) and read_job(data)
  local own_job = is_valid_id(longer) and read_job(longer)
  if job and job.queue ~= queue or own_job and own_job.queue == queue and payload(own_job) == data then
    return is_valid_id(longer) and longer
  end
  return is_valid_id(data) and data
end

local function refuse_element(queue, data, begins)
  local job = create_job(queue, new_ingress_id(begins), '', nil, { 'reason', 'ingress' })
  fail_job(job, 'payload too large', string.format('the ingress element has %d bytes; it may have at most %d',
    #data, LONGEST_ELEMENT), 'ingress')
end

local function create_from_ingress(queue, data, begins, data_is_id)
  if #data > LONGEST_ELEMENT then
    return refuse_element(queue, data, begins)
  end
  local id = data_is_id and id_from_data(queue, data) or new_ingress_id(begins)
  if not read_job(id) then
    create_job(queue, id, data, nil, { 'reason', 'ingress' })
  end
end

local function take_ingress(queue, most)
  local where = key('ingress', queue)
  local shards, id_prefix = unpack(redis.call('HMGET', META, 'shards', 'ingress'))
  if not id_prefix or redis.call('TYPE', where).ok ~= 'list' then
    return true
  end
  local data_is_id = shards == '1' and settings(queue).ingress == 'id'
  for _ = 1, work_left(most) do
    local data = ingress_bytes < ENOUGH_BYTES and redis.call('RPOP', where)
    if not data then
      break
    end
    create_from_ingress(queue, data, id_prefix, data_is_id)
    ingress_bytes = ingress_bytes + #data
  end
  return redis.call('EXISTS', where) == 0
end

-- Turn at most `most` elements into jobs. Return true if the list is empty afterwards. If the key is not a list,
-- it stays unchanged.
local function drain_ingress(queue, most)
  return redis.call('EXISTS', key('ingress', queue)) == 0 or take_ingress(queue, most or INGRESS_AT_MOST)
end

local INGRESS_AT_LEAST = 32

-- Turn elements into jobs if a pop of `count` jobs may need them. The new jobs have the priority 0, so a pop
-- needs them only if fewer than `count` jobs wait that come before them. Return true if the list is empty
-- afterwards.
local function drain_ingress_for_pop(queue, count)
  if redis.call('EXISTS', key('ingress', queue)) == 0 then
    return true
  elseif settings(queue).governed then
    return drain_ingress(queue)
  end
  local wanted = count - redis.call('ZCOUNT', key('waiting', queue), '-inf', 0)
  return wanted > 0 and drain_ingress(queue, math.min(INGRESS_AT_MOST, math.max(INGRESS_AT_LEAST, wanted)))
end
