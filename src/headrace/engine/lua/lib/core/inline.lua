-- inline: payloads up to this size are part of the job; larger ones lie beside it.

local INLINE = 1024
