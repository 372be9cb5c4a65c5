-- is_name: whether bytes from outside can be the id of a job, by the same rules as the client's: not empty,
-- not long, no control characters, and text.

local LONGEST_NAME = 250

-- The letters of UTF-8 beyond ASCII, as the bytes that they may be made of.
local LETTERS = {
  '[\194-\223][\128-\191]',
  '\224[\160-\191][\128-\191]',
  '[\225-\236\238\239][\128-\191][\128-\191]',
  '\237[\128-\159][\128-\191]',
  '\240[\144-\191][\128-\191][\128-\191]',
  '[\241-\243][\128-\191][\128-\191][\128-\191]',
  '\244[\128-\143][\128-\191][\128-\191]',
}

local function is_name(bytes)
  if bytes == '' or #bytes > LONGEST_NAME or string.find(bytes, '%c') then
    return false
  end
  for _, letter in ipairs(LETTERS) do
    bytes = string.gsub(bytes, letter, ' ')
  end
  return not string.find(bytes, '[\128-\255]')
end
