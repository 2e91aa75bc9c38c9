// Jest takes this for fast-check: the same cases in every run, so that a failure is one of the change at hand. FC_SEED=N tries others.
const fc = require('../node_modules/fast-check/lib/cjs/fast-check.js');
fc.configureGlobal({ seed: Number(process.env.FC_SEED ?? 20261121) });
module.exports = fc;
