/**
 * All thresholds for fairness: how long work may block the event loop, from what size it is done in slices, and from what size it is
 * offloaded to a worker thread. They follow from a bound of 50 ms of CPU time in one turn (`test/bench/eventloop.mjs`). The times are for
 * Node 20 on a core of the build machine, with warm code and objects of many small fields. Cold code and garbage collection take several
 * times as long.
 */

const KIB = 1 << 10;

/** The longest slice. It is a tenth of the bound: steps that cannot check the clock add to it, and several kinds of work may share a turn. */
export const SLICE_MILLIS = 5;

/**
 * The slice of long work that no request waits for. Checking a million objects after a start takes a minute, and meanwhile a get from MongoDB
 * waits for two slices: 17 ms with slices of 5 ms.
 */
export const BACKGROUND_SLICE_MILLIS = 1;

// Slices.

/** From this size, stored JSON is decoded in slices: 256 KiB take 8 ms, and up to 21 ms if a garbage collection occurs meanwhile. */
export const SLICED_DECODE_BYTES = 256 * KIB;
/** The size decoded in one step: 128 KiB take 3 to 6 ms. */
export const DECODE_STEP_BYTES = 128 * KIB;
/** From this size, events and writes of the server's own loops get turns of their own: decoding takes 1 ms, and each listener as much. */
export const OWN_TURN_BYTES = 64 * KIB;
/** From this size, list items are rendered one by one: 16 of them in a block, as YAML, would take 100 ms. */
export const SINGLE_ITEM_BYTES = 8 * KIB;
/** The number of schema parts visited in one step: 1 to 3 µs each, and several times that for all of the work to make them structural. */
export const SCHEMA_STEP_PARTS = 50;
/** The number of properties of one part that are listed in one step: 0.3 µs each. */
export const SCHEMA_STEP_PROPERTIES = 1000;
/** From this many schema parts, the rules are prepared before the first object arrives: declaring their types takes 11 ms. */
export const PREPARED_RULES_PARTS = 2000;
/** The number of objects that a quota decodes in one turn: 12 µs each, at 1.3 KB. */
export const QUOTA_TURN_OBJECTS = 100;
/** The number of keys that a quota counts in one turn: 0.1 µs each. */
export const QUOTA_TURN_KEYS = 10_000;
/** The number of bytes of an OpenAPI document that are hashed in one step: SHA-512 takes 5 ms for them. */
export const HASH_STEP_BYTES = 4096 * KIB;

// Offload: the work that is done by a worker, if there is one.

/** Writes of at least this weight (`weightOf`). A write of 3 MiB takes a second in all its stages, so one of 64 KiB takes about 20 ms. */
export const OFFLOAD_WRITE_BYTES = 64 * KIB;
/**
 * Writes with a body or a stored object of more levels than this, whatever their weight: only workers have a stack for 10,000. The main
 * thread's is enough for about 1,000 in the functions that need most.
 */
export const OFFLOAD_LEVELS = 200;
/** Writes below this weight do not wait for a worker to load, which takes 0.4 s; the main thread needs 40 ms for them. */
export const OFFLOAD_WAIT_BYTES = 128 * KIB;
/**
 * The limit for bodies that no worker can take: those of reviews and of subresources that create something. It is the weight from which
 * other writes go to a worker. Their objects hold a few attributes; a review for a user in 1,000 groups has 40 KiB.
 */
export const MAIN_THREAD_BODY_BYTES = OFFLOAD_WRITE_BYTES;
/** Objects requested in a form other than the stored one: 256 KiB as a Table row or as indented JSON take 10 ms. */
export const OFFLOAD_READ_BYTES = 256 * KIB;
/** Objects requested as YAML: 64 KiB take 14 ms, 256 KiB take 49 ms. */
export const OFFLOAD_YAML_BYTES = 64 * KIB;
/** Objects that a webhook converts: decoding, sending a review and reading its response process them several times. */
export const OFFLOAD_CONVERSION_BYTES = 64 * KIB;
/** The number of values in the schemas of a group version that is described for OpenAPI: 3 to 5 µs each. */
export const OFFLOAD_OPENAPI_VALUES = 3000;

// Expensive rules: the only case in which a write is abandoned and repeated by a worker from the start (docs/design/offload.md).

/** The time for which the rules of one write may block the event loop. */
export const RULES_MILLIS = 15;
/** The yield points within this time that distinguish running rules, which reach one every millisecond, from a thread waiting for a busy core. */
export const RULES_YIELD_POINTS = 5;
/** Announced work, in units of 25 ns, that is not even begun here: 5 ms, and several times that in cold code. */
export const RULES_UNITS = 200_000;
