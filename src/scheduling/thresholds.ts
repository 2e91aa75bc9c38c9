/**
 * All thresholds of fairness: how long work may hold the event loop, from what size on it is done in slices, and from what size on a
 * worker thread does it (offload). The bound behind them is 50 ms of CPU in one turn (`test/bench/eventloop.mjs`). Times are of Node 20
 * on a core of the build machine, warm code, objects of many small fields; new code and garbage collection take several times as long.
 */

const KIB = 1 << 10;

/** The longest slice. A tenth of the bound: what cannot look at the clock comes on top, and several kinds of work may share a turn. */
export const SLICE_MILLIS = 5;

/**
 * The same for work that nobody waits for and that lasts. A million objects are looked at for a minute after a start, and meanwhile a get
 * that asks MongoDB waits for two slices: 17 ms with slices of 5 ms.
 */
export const BACKGROUND_SLICE_MILLIS = 1;

// Slices.

/** Stored JSON is decoded in slices from here on: 256 KiB take 8 ms, up to 21 when a collection falls into them. */
export const SLICED_DECODE_BYTES = 256 * KIB;
/** What is decoded in one step of these: 128 KiB take 3 to 6 ms. */
export const DECODE_STEP_BYTES = 128 * KIB;
/** Events and writes of the server's own loops have turns of their own from here on: decoding takes 1 ms, each of the listeners as much. */
export const OWN_TURN_BYTES = 64 * KIB;
/** Items of lists are rendered one by one from here on: 16 of them in a block, as YAML, would take 100 ms. */
export const SINGLE_ITEM_BYTES = 8 * KIB;
/** Parts of a schema that are looked at in one step: 1 to 3 µs each, several times that for all that makes them structural. */
export const SCHEMA_STEP_PARTS = 50;
/** Properties of one part that are listed in one step: 0.3 µs each. */
export const SCHEMA_STEP_PROPERTIES = 1000;
/** Rules of schemas with so many parts are prepared before the first object comes: declaring their types takes 11 ms. */
export const PREPARED_RULES_PARTS = 2000;
/** Objects that a quota decodes in one turn: 12 µs each, with 1.3 KB. */
export const QUOTA_TURN_OBJECTS = 100;
/** Keys that a quota counts in one turn: 0.1 µs each. */
export const QUOTA_TURN_KEYS = 10_000;
/** Bytes of an OpenAPI document that are hashed in one step: SHA-512 takes 5 ms for them. */
export const HASH_STEP_BYTES = 4096 * KIB;

// Offload: what a worker does, if there is one.

/** Writes that weigh so much (`weightOf`). One of 3 MiB takes a second in all its stages, so one of 64 KiB about 20 ms. */
export const OFFLOAD_WRITE_BYTES = 64 * KIB;
/** Below this weight a write waits for no worker to be loaded, which takes 0.4 s; here it takes 40 ms. */
export const OFFLOAD_WAIT_BYTES = 128 * KIB;
/** Objects that are wanted in another form than the stored one: 256 KiB as a Table row or as indented JSON take 10 ms. */
export const OFFLOAD_READ_BYTES = 256 * KIB;
/** The same as YAML: 64 KiB take 14 ms, 256 KiB 49. */
export const OFFLOAD_YAML_BYTES = 64 * KIB;
/** Objects that a webhook converts: decoding, a review and reading its answer go over them several times. */
export const OFFLOAD_CONVERSION_BYTES = 64 * KIB;
/** Values in the schemas of a group version that is described for OpenAPI: 3 to 5 µs each. */
export const OFFLOAD_OPENAPI_VALUES = 3000;

// Expensive rules: the one case in which a write is given up and done by a worker from the start (docs/design/offload.md).

/** How long the rules of one write may hold the event loop. */
export const RULES_MILLIS = 15;
/** Yield points by then that tell rules at work, which come to one every millisecond, from a thread that waits for a busy core. */
export const RULES_YIELD_POINTS = 5;
/** Work that is announced in units of 25 ns, and not even begun here: 5 ms, several times that where code is new to the engine. */
export const RULES_UNITS = 200_000;
