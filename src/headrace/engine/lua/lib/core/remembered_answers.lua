-- remembered_answers: remember the answers of calls, so that a repeated call returns the answer of the first
-- call and has no second effect. The answer of a call with a nonce is remembered under the nonce. A plain put
-- or complete has no nonce: the record of its job proves that the call took effect. A script that deletes this
-- proof remembers it. Answers are kept in two hashes, the newer and the older answers. After five minutes, or
-- when the newer hash is full, the newer answers replace the older. So an answer is kept for at least five
-- minutes, unless the shard remembers more than 50,000 newer answers.
--
-- uses   keys now batched_calls

local REMEMBERED_MS = 300000
-- An answer of less than SMALL bytes counts as SMALL bytes. The field '' of a hash holds the sum. A hash is
-- full when its sum exceeds FULL bytes.
local SMALL, FULL = 640, 32000000

-- Names and answers that this call has to remember.
local proofs

-- Whether the operation may have changed something.
local has_effect = true

-- Return the answer of an operation that has changed nothing. Such an answer is not remembered.
local function without_effect(answer)
  has_effect = false
  return answer
end

-- Let the newer answers replace the older. Return whether there are any.
local function replace_older_answers()
  redis.call('UNLINK', OLDER_ANSWERS)
  return redis.call('EXISTS', ANSWERS) == 1 and redis.call('RENAME', ANSWERS, OLDER_ANSWERS)
end

-- Remember answers. The list contains names, and after each name a packed answer.
local function remember(named_answers)
  local size = 0
  for i = 1, #named_answers, 2 do
    size = size + math.max(SMALL, #named_answers[i] + #named_answers[i + 1])
  end
  local total = redis.call('HINCRBY', ANSWERS, '', size)
  call_in_batches('HSET', ANSWERS, named_answers)
  if total <= FULL then
    if total == size then
      redis.call('ZADD', AGENDA, 'NX', now + REMEMBERED_MS, 'answers:')
    end
  elseif may_change_jobs() then
    replace_older_answers()
    redis.call('ZADD', AGENDA, now + REMEMBERED_MS, 'answers:')
  else
    -- This user may not delete keys. The next call that runs the agenda deletes the older answers.
    redis.call('ZADD', AGENDA, now, 'answers:')
  end
end

-- Return the packed answer that is remembered under a name, or false.
local function remembered(name)
  return redis.call('HGET', ANSWERS, name) or redis.call('HGET', OLDER_ANSWERS, name)
end

local function is_refusal(answer)
  return type(answer) == 'string' and string.find(answer, '^%u') ~= nil
end

local function is_refused(answer)
  if type(answer) ~= 'table' then
    return is_refusal(answer)
  end
  for _, one in ipairs(answer) do
    if not is_refusal(one) then
      return false
    end
  end
  return #answer > 0
end

-- Run an operation. If the call has a nonce and an earlier attempt has run the operation, return the remembered
-- answer instead. A refusal is not remembered, because a refused call changes nothing.
local function run_once(run)
  if string.sub(call_ticket, 1, 1) ~= 'n' then
    return run()
  end
  local known = remembered(call_ticket)
  if known then
    return cmsgpack.unpack(known)
  end
  again, has_effect = false, true
  local answer = run()
  if has_effect and not is_refused(answer) then
    remember({ call_ticket, cmsgpack.pack(answer) })
  end
  return answer
end

local function add_proof(name, answer)
  proofs = proofs or {}
  proofs[#proofs + 1] = name
  proofs[#proofs + 1] = cmsgpack.pack(answer)
end

local function keep_proof_of_completion(job)
  if job.ended > now - REMEMBERED_MS then
    add_proof(job.token .. ':' .. job.id, 'complete')
  end
end

-- Remember what the record of a job proves, before the record is deleted.
local function keep_proofs(job)
  if job.put_at > now - REMEMBERED_MS then
    add_proof('put:' .. job.id, 1)
  end
  if job.state == 'complete' then
    keep_proof_of_completion(job)
  end
end

-- Return whether an earlier attempt of a put has created a job that was deleted since then.
local function was_created(id)
  return again and remembered('put:' .. id)
end

-- Return whether an earlier attempt of a call with this token has completed the job.
local function was_completed(id, token, job)
  return again and (job and job.state == 'complete' and job.token == token or remembered(token .. ':' .. id))
end
