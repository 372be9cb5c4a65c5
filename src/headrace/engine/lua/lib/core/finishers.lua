-- finishers: what lib files add to the end of an operation.

local finishers = {}
