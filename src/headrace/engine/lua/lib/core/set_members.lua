-- set_members: encode and decode members of sorted sets. Redis sorts members of equal score by their bytes.
-- Therefore a member that must be sorted by a number consists of the length of the number in bytes, the
-- number itself, and a name.

local FITS_IN_FOUR = 2 ^ 32

local function numbered(number, name)
  if number < FITS_IN_FOUR then
    return struct.pack('>BI4', 4, number) .. name
  end
  return struct.pack('>BI7', 7, number) .. name
end

local function number_in(member_name)
  return string.sub(member_name, 1, string.byte(member_name) + 1)
end

local function name_in(member_name)
  return string.sub(member_name, string.byte(member_name) + 2)
end

-- Return the ids of the jobs in a list of members and their scores.
local function ids_in(found, role)
  local ids = {}
  for i = 1, #found, 2 do
    ids[#ids + 1] = role == 'waiting' and name_in(found[i]) or found[i]
  end
  return ids
end

local ABOVE_ALL_NUMBERS = 2 ^ 53

-- Return the member that represents a job in the sorted set of its state. Waiting jobs of equal priority
-- are sorted by seq. Jobs with the field `first` come before all other waiting jobs. They are sorted by this
-- field, the highest number first, and then by seq.
local function job_member(job)
  if job.state == 'waiting' then
    local made_first = job.extra and job.extra.first
    if made_first then
      return struct.pack('>BI7I7', 14, ABOVE_ALL_NUMBERS - made_first, job.seq) .. job.id
    end
    return numbered(job.seq, job.id)
  end
  return job.id
end

local function held_member(job)
  return job.queue .. '\0' .. job.id
end
