"""Faults to plant in the scripts of feeds; the walks must catch each."""

from __future__ import annotations

from tests.model.harness import Fault

MAKING = [
    Fault(
        "a feed is made twice", "ops/feed_make", "if known_kind then", "if made_by == nonce then"
    ),
    Fault("any feed was made by this call", "ops/feed_make", "open or again", "open or not again"),
    Fault("a feed is not listed", "ops/feed_make", "redis.call('ZADD', FEEDS, number, feed)", ""),
    Fault("a life has no number", "ops/feed_make", "'life', feed_life", "'lives', feed_life"),
    Fault(
        "a feed has no limit at first",
        "ops/feed_make",
        "'max_length', max_length, ",
        "'max_length', '', ",
    ),
    Fault("all feeds are plain", "ops/feed_make", "'kind', kind,", "'kind', 'plain',"),
    Fault("settings are merged", "ops/feed_configure", "'about', about, ", ""),
    Fault("a limit holds later", "ops/feed_configure", "feed_most = tonumber(max_length)", ""),
    Fault(
        "nobody hears of settings",
        "ops/feed_configure",
        "record_change(feed, 'feed_con",
        "type(feed, 'con",
    ),
    Fault("settings are repeated", "ops/feed_configure", "~= nonce", "~= 0"),
    Fault("items outlive their feed", "ops/feed_delete", ", key('items', feed)", ""),
    Fault("an order outlives its feed", "ops/feed_delete", ", key('order', feed)", ""),
    Fault("a deleted feed is listed", "ops/feed_delete", "redis.call('ZREM', FEEDS, feed)", ""),
    Fault("deleting twice is refused", "ops/feed_delete", "again and 1 or ", ""),
    Fault("what is not there is deleted", "ops/feed_delete", "again and 1 or", "1 or"),
]

PUBLISHING = [
    Fault("an edit moves", "ops/feed_publish", "(is_new or touch)", "true"),
    Fault("a touch moves nothing", "ops/feed_publish", "(is_new or touch)", "is_new"),
    Fault("an edit is published", "ops/feed_publish", "is_new and 'published'", "'published'"),
    Fault("an edit is counted", "ops/feed_publish", "(is_new and 1 or 0)", "1"),
    Fault("nothing is evicted", "ops/feed_publish", "  feed_evict(feed)\n", ""),
    Fault("no call is known again", "ops/feed_publish", "feed_by = nonce", ""),
    Fault("a repeated edit is told", "ops/feed_publish", "not again or touch or", "true or"),
    Fault("sorted feeds are published to", "ops/feed_publish", ", 'plain')", ")"),
    Fault(
        "the newest are evicted",
        "lib/feed_change",
        "'ZREMRANGEBYRANK', order, 0, #oldest - 1",
        "'ZREMRANGEBYRANK', order, -#oldest, -1",
    ),
    Fault("one too many is kept", "lib/feed_change", "- feed_most", "- feed_most - 1"),
    Fault(
        "items stay without a place",
        "lib/feed_change",
        "redis.call('HDEL', key('items', feed), unpack(oldest))",
        "",
    ),
    Fault(
        "an eviction sends no notice",
        "lib/feed_change",
        "    record_change(feed, 'retracted', id, '', '', '')\n",
        "",
    ),
    Fault("an absent item is retracted", "ops/feed_retract", "was_there == 1", "was_there"),
    Fault(
        "a place stays without an item",
        "ops/feed_retract",
        "redis.call('ZREM', key('order', feed), id)",
        "",
    ),
    Fault("an absent item was there", "ops/feed_retract", "again and 1 or was_there", "1"),
]

SORTING = [
    Fault("after is before", "lib/feed_order", "(where == 'after' and 1 or 0)", "0"),
    Fault("before is after", "lib/feed_order", "(where == 'after' and 1 or 0)", "1"),
    Fault("the first is the second", "lib/feed_order", "return after - GAP", "return after + 1"),
    Fault("there is no room at the end", "lib/feed_order", "return before + GAP", "return before"),
    Fault("a gap is used twice", "lib/feed_order", "high - low > 1 and", "true and"),
    Fault(
        "an order is turned round",
        "lib/feed_order",
        "first + math.floor(i *",
        "first + size - math.floor(i *",
    ),
    Fault("a part is full", "lib/feed_order", "count < most and 2 * (count + 1) <= size", "true"),
    Fault("the place is not told", "lib/feed_order", "'after ' .. one_before", "'after '"),
    Fault(
        "a moved item stands twice",
        "lib/feed_order",
        "id == reference or is_at(order, id, where, reference)",
        "false",
    ),
    Fault(
        "the last is never there",
        "lib/feed_order",
        "rank == redis.call('ZCARD', order) - 1",
        "false",
    ),
    Fault(
        "several are turned round",
        "lib/feed_order",
        "return 'after', id",
        "return where, reference",
    ),
    Fault("an edit has a place", "ops/feed_insert", "go == '' and '' or move_to", "move_to"),
    Fault(
        "a reference is not looked for", "ops/feed_insert", "reference ~= '' and not", "nil and not"
    ),
    Fault("plain feeds are inserted into", "ops/feed_insert", ", 'sorted')", ")"),
    Fault("an insertion is not known again", "ops/feed_insert", "feed_by = nonce", ""),
    Fault("an id of the counter comes again", "ops/feed_insert", "    raise_counter(id)\n", ""),
    Fault("insertions are not counted", "ops/feed_insert", "feed_published + 1", "feed_published"),
    Fault(
        "nothing is edited",
        "ops/feed_insert",
        "record_change(feed, 'edited', id, item",
        "record_change(feed, 'edited', id, before",
    ),
    Fault("some move although one is missing", "ops/feed_move", "'ITEM_NOT_FOUND ' .. id", "1"),
    Fault(
        "nobody needs a reference",
        "ops/feed_move",
        "return 'ITEM_NOT_FOUND ' .. reference",
        "return 1",
    ),
    Fault("what stays is told", "ops/feed_move", "place ~= ''", "place"),
    Fault("the counter stands", "ops/feed_numbers", "'counter', count", "'counter', 0"),
]

TELLING = [
    Fault("numbers with holes", "lib/feed_change", "feed_number + 1", "feed_number + 2"),
    Fault("the shard does not count", "lib/feed_change", "1 + (changes", "0 + (changes"),
    Fault(
        "listeners of all feeds get no notice",
        "lib/feed_change",
        "redis.call('SPUBLISH', key('changes', ''), message)",
        "",
    ),
    Fault(
        "listeners of one feed get no notice",
        "lib/feed_change",
        "redis.call('SPUBLISH', key('changes', feed), message)",
        "",
    ),
    Fault(
        "the log does not know",
        "lib/feed_change",
        "  log_change(feed, kind, id, item, place, instance)\n",
        "  next_event()\n  number = number + 1\n",
    ),
    Fault("the log has everything", "lib/feed_change", "#item > largest_data", "#item < 0"),
    Fault("a message has no item", "lib/feed_change", "instance, item }", "instance, '' }"),
    Fault(
        "a message has no place",
        "lib/feed_change",
        "id, place, instance, item }",
        "id, '', instance, item }",
    ),
    Fault("nobody did it", "lib/feed_change", "place, instance, item }", "place, '', item }"),
    Fault(
        "the log begins anew",
        "lib/feed_change",
        "redis.call('HSET', LOG, 'number', number, 'stamp', stamp, 'changes', changes)",
        "",
    ),
    Fault("the oldest is the newest", "ops/feed_page", "backward and", "not backward and"),
    Fault(
        "a page begins at the beginning",
        "ops/feed_page",
        "'ZRANGE', key('order', feed), offset",
        "'ZRANGE', key('order', feed), 0 * offset + 1",
    ),
    Fault("one item is another", "ops/feed_page", "unpack(ids)", "unpack(ids, 2)"),
    Fault("a feed has no length", "ops/feed_info", "'ZCARD'", "'EXISTS'"),
    Fault("there are no feeds", "ops/feeds", "offset + count - 1", "-9"),
]

FAULTS = [*MAKING, *PUBLISHING, *SORTING, *TELLING]
